#include <fmt/format.h>

#include <memory>

#include "vitrine/cli/commands.h"
#include "vitrine/core/error.h"
#include "vitrine/inspect/pattern_figure.h"

namespace vitrine::cli {
namespace {

struct PatternOptions {
  AttentionPattern pattern{.kind = PatternKind::Strided, .stride = 32};
  int64_t tokens = 1024;
  bool both_ways = false;
  std::string out;
};

template <typename E>
std::vector<std::pair<std::string, E>> choices_of(const Choices<E>& names) {
  return {names.begin(), names.end()};
}

int run_pattern(PatternOptions o, Streams s) {
  o.pattern.causal = !o.both_ways;
  if (o.out.empty()) o.out = "pattern.png";
  pattern_figure(o.pattern, o.tokens).save(o.out);
  s.out << fmt::format("{:.2f} % of the pairs that dense attention has\n{}\n",
                       100 * pattern_share(o.pattern, o.tokens), o.out);
  return 0;
}

}  // namespace

Command inspect_command() {
  return {"inspect", "draw the parts that networks are made of", [](CLI::App& app) {
            const auto o = std::make_shared<PatternOptions>();
            auto* pattern = app.add_subcommand("pattern", "which token sees which");
            pattern
                ->add_option("--kind", o->pattern.kind, "dense, local, strided, fixed, longformer")
                ->transform(CLI::CheckedTransformer(choices_of(pattern_kind_names())));
            pattern->add_option("--half", o->pattern.half, "first, second or both")
                ->transform(CLI::CheckedTransformer(choices_of(pattern_half_names())));
            pattern->add_option("-n,--n", o->tokens, "tokens")->capture_default_str();
            pattern->add_option("--stride", o->pattern.stride, "window, stride or block")
                ->capture_default_str();
            pattern->add_option("--summary", o->pattern.summary, "fixed: c")->capture_default_str();
            pattern->add_option("--globals", o->pattern.globals, "longformer: tokens that see all")
                ->capture_default_str();
            pattern->add_flag("--both-ways", o->both_ways, "tokens see later ones too");
            pattern->add_option("-o,--out", o->out, "PNG or SVG; default pattern.png");
            app.require_subcommand(1);
            return [o](Streams s) { return run_pattern(*o, s); };
          }};
}

}  // namespace vitrine::cli
