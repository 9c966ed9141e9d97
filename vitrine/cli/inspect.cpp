#include <fmt/format.h>

#include <memory>

#include "vitrine/cli/commands.h"
#include "vitrine/cli/options.h"
#include "vitrine/inspect/approximation.h"
#include "vitrine/inspect/pattern_figure.h"

namespace vitrine::cli {
namespace {

struct PatternOptions {
  AttentionPattern pattern{.kind = PatternKind::Strided, .stride = 32};
  int64_t tokens = 1024;
  bool bidirectional = false;
  std::string out = "pattern.png";
};

void bind_pattern(CLI::App& app, PatternOptions& o) {
  take_one_of(app.add_option("--kind", o.pattern.kind, "kind of pattern"), pattern_kind_names());
  take_one_of(app.add_option("--factor", o.pattern.factor,
                             "which factor of a strided or fixed pattern is drawn"),
              pattern_factor_names());
  app.add_option("-n,--n", o.tokens, "sequence length")->capture_default_str();
  app.add_option("--stride", o.pattern.stride, "window, stride or block size")
      ->capture_default_str();
  app.add_option("--summary-tokens", o.pattern.summary_tokens,
                 "fixed: summary tokens at the end of each block")
      ->capture_default_str();
  app.add_option("--globals", o.pattern.globals, "longformer: number of global tokens")
      ->capture_default_str();
  app.add_flag("--bidirectional", o.bidirectional, "bidirectional (not causal)");
  app.add_option("-o,--out", o.out, "PNG or SVG")->type_name("FILE")->capture_default_str();
}

int run_pattern(PatternOptions o, Streams s) {
  plot::check_figure_file(o.out);
  o.pattern.causal = !o.bidirectional;
  pattern_figure(o.pattern, o.tokens).save(o.out);
  s.out << fmt::format("{:.2f} % of the pairs of dense attention\n{}\n",
                       100 * pattern_density(o.pattern, o.tokens), o.out);
  return 0;
}

struct ApproximationOptions {
  int64_t tokens = 512;
  uint64_t seed = 1;
  std::string out = "approximation.png";
};

void bind_approximation(CLI::App& app, ApproximationOptions& o) {
  app.add_option("-n,--n", o.tokens, "sequence length, 64 to 4096")->capture_default_str();
  app.add_option("--seed", o.seed, "seed of the tokens and random features")->capture_default_str();
  app.add_option("-o,--out", o.out, "PNG or SVG")->type_name("FILE")->capture_default_str();
}

int run_approximation(const ApproximationOptions& o, Streams s) {
  plot::check_figure_file(o.out);
  const auto curves = approximation_errors(o.tokens, o.seed);
  approximation_figure(curves, o.tokens).save(o.out);
  for (const auto& curve : curves) {
    s.out << fmt::format("{}{}{}: error of the output by {}\n", curve.layer,
                         curve.name.empty() ? "" : ", ", curve.name, curve.setting_name);
    for (size_t i = 0; i < curve.setting.size(); ++i)
      s.out << fmt::format("{:>6.0f} {:.4f}\n", curve.setting[i], curve.error[i]);
  }
  s.out << o.out << '\n';
  return 0;
}

}  // namespace

Command inspect_command() {
  return {"inspect", "plot attention patterns and approximations", [](CLI::App& app) {
            Subcommands commands(app);
            const auto add = [&](const char* name, const char* summary, auto options, auto bind,
                                 auto run) {
              const auto o = std::make_shared<decltype(options)>(std::move(options));
              bind(*commands.add(name, summary, o, run), *o);
            };
            add("pattern", "an attention pattern as a mask", PatternOptions{}, bind_pattern,
                run_pattern);
            add("approximation", "approximation error of linear-complexity attention",
                ApproximationOptions{}, bind_approximation, run_approximation);
            return commands.body();
          }};
}

}  // namespace vitrine::cli
