#include <algorithm>

#include "vitrine/labs/block_figures.h"
#include "vitrine/labs/block_parts.h"
#include "vitrine/labs/tables.h"

namespace vitrine::labs {
namespace {

// Errors that differ by less than this factor count as alike.
constexpr double kClearFactor = 1.5;

std::string mean_and_deviation(const MeanStd& summary) {
  return fmt::format("{:.4f} ± {:.4f}", summary.mean, summary.std);
}

const NormTraining& setting_of(const NormTrainings& trained, const std::string& place,
                               bool warmup) {
  return *std::find_if(
      trained.settings.begin(), trained.settings.end(),
      [&](const NormTraining& s) { return s.place == place && s.warmup == warmup; });
}

}  // namespace

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
                    fmt::format("{:.4f}", halfway.mean), mean_and_deviation(setting.test)});
  }
  lesson.table(worded_table(lesson, "training.table", std::move(rows)));
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
    rows.push_back(
        {fmt::format("{:g}", setting.rate), lesson.word("activations." + setting.activation),
         mean_and_deviation(setting.test),
         fmt::format("{:.1f} ± {:.1f} %", 100 * setting.dead.mean, 100 * setting.dead.std)});
  lesson.table(worded_table(lesson, "activations.table", std::move(rows)));
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
  lesson.table(worded_table(lesson, "heads.table", std::move(rows),
                            fmt::arg("layers", trained.layers),
                            fmt::arg("middle", trained.middle_layer)));
  lesson.say("heads.seen");
  lesson.figure("04_attention_patterns", block_heads_figure(lesson, trace, words, trained),
                lesson.word("heads.caption"));
}

}  // namespace vitrine::labs
