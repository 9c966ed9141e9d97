#include <fmt/format.h>

#include <memory>

#include "vitrine/cli/commands.h"
#include "vitrine/core/error.h"
#include "vitrine/core/image_files.h"
#include "vitrine/core/progress.h"
#include "vitrine/infer/generate.h"
#include "vitrine/ops/runtime.h"
#include "vitrine/plot/figure.h"

namespace vitrine::cli {
namespace {

struct SampleCommandOptions {
  std::string model;
  GenerateOptions generate;
  std::string complete;
  std::string out = "samples.png";
  int64_t threads = 0;
};

std::string sample_title(const SampleCommandOptions& o) {
  auto title = o.complete.empty() ? fmt::format("Made up by {}", o.model)
                                  : fmt::format("{} from its upper {:.0f} % on, by {}",
                                                fs::path(o.complete).filename().string(),
                                                100 * o.generate.keep, o.model);
  title += fmt::format("; temperature {}", o.generate.temperature);
  if (o.generate.top_k > 0) title += fmt::format(", top {}", o.generate.top_k);
  return title;
}

int run_sample(SampleCommandOptions o, Streams s) {
  plot::check_figure_file(o.out);
  set_up_runtime(o.threads);
  if (!o.complete.empty()) o.generate.picture = read_image(o.complete);
  const auto made = generate(o.model, o.generate);
  s.err << fmt::format("{} bytes in {}, {:.0f} bytes/s\n", made.bytes, duration_text(made.seconds),
                       static_cast<double>(made.bytes) / made.seconds);
  for (const auto& text : made.texts) s.out << text << "\n\n";
  if (made.pictures.empty()) return 0;
  auto pictures = made.pictures;
  std::vector<std::string> titles(pictures.size());
  if (o.generate.picture) {
    pictures.insert(pictures.begin(), *o.generate.picture);
    titles.insert(titles.begin(), "the picture");
  }
  plot::picture_grid(sample_title(o), pictures, titles).save(o.out);
  s.out << o.out << '\n';
  return 0;
}

}  // namespace

Command sample_command() {
  return {
      "sample", "let a network make up pictures or texts", [](CLI::App& app) {
        const auto o = std::make_shared<SampleCommandOptions>();
        app.add_option("model", o->model, "a run folder (its best checkpoint) or a checkpoint")
            ->required();
        app.add_option("-n,--count", o->generate.count, "how many")->capture_default_str();
        app.add_option("--temperature", o->generate.temperature,
                       "below 1: likely bytes more often; above 1: less often")
            ->capture_default_str();
        app.add_option("--top-k", o->generate.top_k, "only the k likeliest bytes; 0 = all")
            ->capture_default_str();
        app.add_option("--seed", o->generate.seed, "the same seed draws the same bytes")
            ->capture_default_str();
        app.add_option("--complete", o->complete, "a picture whose upper part is kept");
        app.add_option("--keep", o->generate.keep, "the share of its rows that is kept")
            ->capture_default_str();
        app.add_option("--text", o->generate.text, "how texts begin");
        app.add_option("-o,--out", o->out, "the grid of pictures, PNG or SVG")
            ->capture_default_str();
        app.add_option("--threads", o->threads, "threads; 0 = all cores")->capture_default_str();
        return [o](Streams s) { return run_sample(*o, s); };
      }};
}

}  // namespace vitrine::cli
