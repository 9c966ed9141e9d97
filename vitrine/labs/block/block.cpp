#include <algorithm>
#include <cmath>

#include "vitrine/labs/block/figures.h"
#include "vitrine/labs/block/numbers.h"
#include "vitrine/labs/block/residuals_norms.h"
#include "vitrine/labs/lab.h"

namespace vitrine::labs::block {
namespace {

// Errors that differ by less than this factor count as alike.
constexpr double kClearFactor = 1.5;

const NormTraining& setting_of(const NormTrainings& trained, const std::string& place,
                               bool warmup) {
  return *std::find_if(
      trained.settings.begin(), trained.settings.end(),
      [&](const NormTraining& s) { return s.place == place && s.warmup == warmup; });
}

void teach_norm_places(Lesson& lesson, const NormTrainings& trained) {
  lesson.section("training.title");
  lesson.say("training.idea");
  lesson.formula(
      "post: x ← LayerNorm(x + f(x))\n"
      "pre:  x ← x + f(LayerNorm(x))");
  lesson.say("training.setup", fmt::arg("layers", trained.layers), fmt::arg("rate", trained.rate),
             fmt::arg("warmup", trained.warmup_steps), fmt::arg("steps", trained.total_steps),
             fmt::arg("seeds", trained.seeds));
  std::vector<Cells> rows;
  for (const auto& setting : trained.settings) {
    const auto& halfway = setting.errors[(setting.errors.size() - 1) / 2];
    rows.push_back({lesson.word("forms." + setting.place),
                    lesson.word(setting.warmup ? "training.with" : "training.without"),
                    fmt::format("{:.4f}", setting.errors.front().mean),
                    fmt::format("{:.4f}", halfway.mean), mean_std_text(setting.test, 4)});
  }
  lesson.table("training.table", std::move(rows));
  lesson.say("training.baseline", fmt::arg("constant", trained.constant));
  for (const char* place : {"post", "pre"}) {
    const double with = setting_of(trained, place, true).test.mean;
    const double without = setting_of(trained, place, false).test.mean;
    lesson.say(without > kClearFactor * with   ? "training.helped"
               : with > kClearFactor * without ? "training.hindered"
                                               : "training.indifferent",
               fmt::arg("place", lesson.word(fmt::format("forms.{}", place))),
               fmt::arg("with", with), fmt::arg("without", without));
  }
  lesson.say("training.seen");
  lesson.figure("04_pre_against_post_norm", norm_places_figure(lesson, trained),
                lesson.word("training.caption"));
}

void teach_activations(Lesson& lesson, const LabOptions& options) {
  lesson.section("activations.title");
  lesson.formula(
      "ReLU(x) = max(0, x)\n"
      "GELU(x) = x Φ(x)");
  const auto curves = activation_curves();
  const auto gelu = std::find_if(curves.begin(), curves.end(),
                                 [](const ActivationCurve& c) { return c.name == "gelu"; });
  lesson.say("activations.idea", fmt::arg("lowest", gelu->lowest), fmt::arg("at", gelu->lowest_at));
  const auto trained =
      train_activations(options, lesson.word("activations.progress"), lesson.word("training.runs"));
  lesson.say("activations.setup", fmt::arg("epochs", trained.epochs),
             fmt::arg("seeds", trained.seeds), fmt::arg("units", trained.units));
  std::vector<Cells> rows;
  for (const auto& setting : trained.settings)
    rows.push_back({fmt::format("{:g}", setting.rate),
                    lesson.word("activations." + setting.activation),
                    mean_std_text(setting.test, 4), mean_std_text(setting.dead, 1, 100) + " %"});
  lesson.table("activations.table", std::move(rows));
  lesson.say("activations.seen");
  lesson.figure("04_gelu_against_relu", activations_figure(lesson, curves, trained),
                lesson.word("activations.caption"));
}

void teach_block_heads(Lesson& lesson, const BlockTrace& trace,
                       const std::vector<std::string>& words, const NormTrainings& trained) {
  lesson.section("heads.title");
  lesson.say("heads.idea");
  std::vector<Cells> rows;
  for (size_t head = 0; head < trace.heads.size(); ++head)
    rows.push_back({lesson.word("heads.head", fmt::arg("head", head + 1)),
                    fmt::format("{:.2f}", trace.heads[head].evenness),
                    fmt::format("{:.2f}", trained.first_heads[head].evenness),
                    fmt::format("{:.2f}", trained.middle_heads[head].evenness)});
  lesson.table("heads.table", std::move(rows), fmt::arg("layers", trained.layers),
               fmt::arg("middle", trained.middle_layer));
  lesson.say("heads.seen");
  lesson.figure("04_attention_patterns", heads_figure(lesson, trace, words, trained),
                lesson.word("heads.caption"));
}

constexpr size_t kWords = 6;
// Tokens count as alike from this cosine on, and a gradient as vanished below this share.
constexpr double kAlike = 0.99, kVanished = 1e-6;

/// Three decimals and no minus before a zero; a dash for what does not exist.
std::string plain_number(double value) {
  if (std::isnan(value)) return "–";
  return fmt::format("{:.3f}", std::round(value * 1000) / 1000 + 0.0);
}

void show_steps(Lesson& lesson, const BlockTrace& trace) {
  lesson.section("steps.title");
  lesson.say("steps.idea", fmt::arg("tokens", trace.tokens), fmt::arg("width", trace.width),
             fmt::arg("hidden", trace.hidden), fmt::arg("heads", trace.heads.size()));
  lesson.formula(
      "z = LayerNorm(x + MultiHead(x))\n"
      "y = LayerNorm(z + FeedForward(z))\n"
      "FeedForward(z) = W₂ GELU(W₁ z + b₁) + b₂");
  std::vector<Cells> rows;
  for (const auto& step : trace.steps)
    rows.push_back({std::to_string(rows.size() + 1), lesson.word("steps." + step.name),
                    fmt::format("{} × {}", trace.tokens, trace.width), plain_number(step.mean),
                    plain_number(step.variance),
                    fmt::format("{:.3f} … {:.3f}", step.least_variance, step.greatest_variance)});
  lesson.table("steps.table", std::move(rows));
  const auto& last = trace.steps.back();
  lesson.say("steps.seen", fmt::arg("mean", plain_number(last.mean)),
             fmt::arg("variance", plain_number(last.variance)),
             fmt::arg("difference", trace.difference));
  lesson.figure("04_transformer_dataflow", dataflow_figure(lesson, trace),
                lesson.word("steps.caption"));
}

void show_parameters(Lesson& lesson, const BlockTrace& trace) {
  lesson.section("parameters.title");
  double total = 0;
  for (const auto& part : trace.parts) total += static_cast<double>(part.parameters);
  std::vector<Cells> rows;
  for (const auto& part : trace.parts)
    rows.push_back({lesson.word("steps." + part.name), part.formula,
                    std::to_string(part.parameters),
                    fmt::format("{:.1f} %", 100 * static_cast<double>(part.parameters) / total)});
  rows.push_back(
      {lesson.word("parameters.sum"), "12 d² + 13 d", fmt::format("{:.0f}", total), "100.0 %"});
  lesson.table("parameters.table", std::move(rows), fmt::arg("width", trace.width));
  lesson.say("parameters.seen",
             fmt::arg("share", 100 * static_cast<double>(trace.parts[2].parameters) / total));
}

void say_gradients(Lesson& lesson, const StackGradients& bare, const StackGradients& normed,
                   const StackGradients& post, const StackGradients& pre) {
  const auto depth = fmt::arg("depth", bare.depth);
  lesson.say(bare.all.front() < kVanished * bare.all.back() ? "gradients.vanished"
                                                            : "gradients.not_vanished",
             depth, fmt::arg("first", bare.all.front()), fmt::arg("last", bare.all.back()));
  lesson.say(normed.alike > kAlike ? "gradients.collapsed" : "gradients.not_collapsed", depth,
             fmt::arg("alike", normed.alike), fmt::arg("gradient", normed.all.front()),
             fmt::arg("queries", normed.queries_keys.back()));
  lesson.say("gradients.kept", depth, fmt::arg("post", post.all.front()),
             fmt::arg("pre", pre.all.front()), fmt::arg("post_alike", post.alike),
             fmt::arg("pre_alike", pre.alike));
  if (pre.alike < post.alike) lesson.say("gradients.apart");
}

void show_gradients(Lesson& lesson, const LabOptions& options) {
  lesson.section("gradients.title");
  lesson.say("gradients.idea");
  lesson.formula("∂(x + f(x)) / ∂x = 1 + f′(x)");
  const std::vector<int64_t> depths =
      options.smoke ? std::vector<int64_t>{2, 4} : std::vector<int64_t>{2, 4, 8, 16, 32, 64};
  lesson.say("gradients.setup", fmt::arg("fewest", depths.front()),
             fmt::arg("most", depths.back()));
  const auto gradients = gradients_by_depth(depths, options.seed);
  std::vector<Cells> sizes, tokens;
  for (size_t i = 0; i < depths.size(); ++i) {
    sizes.push_back({std::to_string(depths[i])});
    tokens.push_back({std::to_string(depths[i])});
    for (const auto& series : gradients)
      sizes.back().push_back(fmt::format("{:.1e}", series.stacks[i].all.front()));
    for (size_t form = 1; form < gradients.size(); ++form)
      tokens.back().push_back(fmt::format("{:.1e}", gradients[form].stacks[i].queries_keys.back()));
    for (size_t form = 1; form < gradients.size(); ++form)
      tokens.back().push_back(fmt::format("{:.3f}", gradients[form].stacks[i].alike));
  }
  lesson.table("gradients.sizes", std::move(sizes));
  lesson.table("gradients.tokens", std::move(tokens));
  say_gradients(lesson, gradients[0].stacks.back(), gradients[1].stacks.back(),
                gradients[2].stacks.back(), gradients[3].stacks.back());
  lesson.figure("04_residual_effect", residual_figure(lesson, gradients),
                lesson.word("gradients.caption"));
}

void show_norms(Lesson& lesson, const LabOptions& options) {
  constexpr int64_t kShown = 5;
  lesson.section("norms.title");
  lesson.say("norms.idea");
  lesson.formula("y = γ (x - μ) / √(σ² + ε) + β");
  const auto rows = compare_norms({1, 2, 4, 8, 16, 32, 64}, options.smoke ? 3 : 100, options.seed);
  std::vector<Cells> cells;
  for (const auto& row : rows)
    cells.push_back({std::to_string(row.batch), plain_number(row.batch_error_single),
                     plain_number(row.batch_error_several), plain_number(row.layer_error),
                     plain_number(row.batch_change), plain_number(row.layer_change)});
  lesson.table("norms.table", std::move(cells), fmt::arg("tokens", kSeveralTokens));
  lesson.say("norms.seen", fmt::arg("few", rows[1].batch), fmt::arg("small", rows[1].batch_change),
             fmt::arg("large", rows.back().batch_change), fmt::arg("batch", rows.back().batch),
             fmt::arg("layer", rows.back().layer_change));
  const auto single = normalize_single_token(kShown, options.seed);
  std::vector<Cells> token(3);
  const std::vector<const std::vector<double>*> values = {&single.input, &single.batch_norm,
                                                          &single.layer_norm};
  for (size_t i = 0; i < token.size(); ++i) {
    token[i].push_back(lesson.word(fmt::format("norms.single_token.rows.{}", i)));
    for (const double value : *values[i]) token[i].push_back(plain_number(value));
  }
  lesson.table("norms.single_token", std::move(token));
  lesson.say("norms.single_token_seen");
  lesson.figure("04_layer_against_batch_norm", norms_figure(lesson, rows),
                lesson.word("norms.caption"));
}

}  // namespace

void teach(Lesson& lesson, const LabOptions& options) {
  lesson.say("intro");
  const auto trace = trace_block(kWords, options.seed);
  show_steps(lesson, trace);
  show_parameters(lesson, trace);
  show_gradients(lesson, options);
  show_norms(lesson, options);
  const auto trained =
      train_norm_places(options, lesson.word("training.progress"), lesson.word("training.runs"));
  teach_norm_places(lesson, trained);
  teach_activations(lesson, options);
  teach_block_heads(lesson, trace, lesson.words("words"), trained);
  lesson.section("summary.title");
  lesson.say("summary.text");
}

}  // namespace vitrine::labs::block
