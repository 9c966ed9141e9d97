#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "vitrine/cli/commands.h"
#include "vitrine/cli/options.h"
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
  auto title = o.complete.empty() ? fmt::format("Sampled from {}", o.model)
                                  : fmt::format("{} from its upper {:.0f} % on, by {}",
                                                fs::path(o.complete).filename().string(),
                                                100 * o.generate.keep, o.model);
  title += fmt::format("; temperature {}", o.generate.temperature);
  if (o.generate.top_k > 0) title += fmt::format(", top {}", o.generate.top_k);
  return title;
}

/// The part of the image that the model was given; grey where it was not.
Image given_part(const GenerateOptions& o) {
  constexpr uint8_t kGrey = 200;
  auto image = *o.image;
  const auto kept = o.kept_image_rows(image.height) * image.width * image.channels;
  std::fill(image.pixels.begin() + kept, image.pixels.end(), kGrey);
  return image;
}

/// Every tile says what it is: the original, what was given of it and each completion, or samples.
plot::Figure sample_sheet(const SampleCommandOptions& o, const std::vector<Image>& made) {
  std::vector<Image> images;
  std::vector<std::string> titles;
  if (o.generate.image) {
    images = {*o.generate.image, given_part(o.generate)};
    titles = {"original", "given"};
  }
  for (size_t i = 0; i < made.size(); ++i) {
    images.push_back(made[i]);
    titles.push_back(fmt::format("{} {}", o.generate.image ? "completed" : "sample", i + 1));
  }
  return plot::image_grid(sample_title(o), images, titles);
}

int run_sample(SampleCommandOptions o, Streams s) {
  plot::check_figure_file(o.out);
  set_up_runtime(o.threads);
  if (!o.complete.empty()) o.generate.image = read_image(o.complete);
  const auto made = generate(o.model, o.generate);
  s.err << fmt::format("{} {} in {}, {:.0f} {}/s\n", made.tokens, made.unit,
                       duration_text(made.seconds), static_cast<double>(made.tokens) / made.seconds,
                       made.unit);
  const bool has_lines = std::any_of(made.texts.begin(), made.texts.end(), [](const auto& text) {
    return text.find('\n') != std::string::npos;
  });
  for (const auto& text : made.texts) s.out << text << (has_lines ? "\n\n" : "\n");
  if (made.images.empty()) return 0;
  sample_sheet(o, made.images).save(o.out);
  s.out << o.out << '\n';
  return 0;
}

}  // namespace

Command sample_command() {
  return {"sample", "sample images or text from a model", [](CLI::App& app) {
            const auto o = std::make_shared<SampleCommandOptions>();
            app.add_option("model", o->model, "a run folder (its best checkpoint) or a checkpoint")
                ->type_name("PATH")
                ->required();
            app.add_option("-n,--count", o->generate.count, "number of samples")
                ->capture_default_str()
                ->check(at_least(1));
            app.add_option("--temperature", o->generate.temperature,
                           "sampling temperature (below 1 sharpens, above 1 flattens)")
                ->capture_default_str()
                ->check(positive());
            app.add_option("--top-k", o->generate.top_k,
                           "sample from the k most probable bytes, colours or words; 0 = from all")
                ->capture_default_str()
                ->check(at_least(0));
            app.add_option("--seed", o->generate.seed, "the same seed gives the same samples")
                ->capture_default_str();
            app.add_option("--complete", o->complete, "an image whose upper part is kept")
                ->type_name("FILE");
            app.add_option("--keep", o->generate.keep, "the fraction of its rows that is kept")
                ->capture_default_str()
                ->check(between(0, 1));
            app.add_option("--text", o->generate.text, "prompt: how texts or sentences begin");
            app.add_option("-o,--out", o->out, "the grid of images, PNG or SVG")
                ->type_name("FILE")
                ->capture_default_str();
            add_threads(app, o->threads);
            return [o](Streams s) { return run_sample(*o, s); };
          }};
}

}  // namespace vitrine::cli
