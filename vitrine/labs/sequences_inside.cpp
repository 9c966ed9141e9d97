#include "vitrine/labs/sequences_inside.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "vitrine/labs/sequences_figures.h"

namespace vitrine::labs {
namespace {

void teach_wave_attention(Lesson& lesson, const SequenceNumbers& numbers) {
  lesson.section("attention.title");
  lesson.say("attention.text");
  lesson.figure("05_attention_patterns", wave_attention_figure(lesson, numbers),
                lesson.word("attention.caption"));
}

plot::Table wave_heads_table(const Lesson& lesson, const std::vector<HeadReading>& heads) {
  plot::Table table{
      .title = lesson.word("heads.table"),
      .header = {lesson.word("heads.head"), lesson.word("heads.lag"), lesson.word("heads.peak"),
                 lesson.word("heads.entropy"), lesson.word("heads.steady")}};
  for (size_t i = 0; i < heads.size(); ++i)
    table.rows.push_back(
        {std::to_string(i + 1), std::to_string(heads[i].lag), fmt::format("{:.2f}", heads[i].peak),
         fmt::format("{:.2f}", heads[i].entropy), fmt::format("{:.0f} %", 100 * heads[i].steady)});
  return table;
}

/// One row per seed; its heads stand in the order of their lag, as their numbers mean nothing.
plot::Table wave_seeds_table(const Lesson& lesson, const SequenceNumbers& numbers) {
  plot::Table table{.title = lesson.word("heads.seeds_table"),
                    .header = {lesson.word("heads.seed_column"), lesson.word("heads.lags"),
                               lesson.word("heads.entropies"), lesson.word("mse")}};
  for (size_t seed = 0; seed < numbers.heads.size(); ++seed) {
    auto heads = numbers.heads[seed];
    std::stable_sort(heads.begin(), heads.end(),
                     [](const auto& one, const auto& other) { return one.lag < other.lag; });
    std::string lags, entropies;
    for (const auto& head : heads) {
      const auto gap = lags.empty() ? "" : ", ";
      lags += fmt::format("{}{}", gap, head.lag);
      entropies += fmt::format("{}{:.2f}", gap, head.entropy);
    }
    table.rows.push_back({std::to_string(seed + 1), lags, entropies,
                          fmt::format("{:.5f}", numbers.networks.front().score.mse[seed])});
  }
  return table;
}

void teach_wave_heads(Lesson& lesson, const SequenceNumbers& numbers) {
  const auto& first = numbers.heads.front();
  const double uniform = std::log(static_cast<double>(first.front().weights.size()));
  lesson.section("heads.title");
  lesson.say("heads.text", fmt::arg("uniform", uniform));
  lesson.formula("H = − Σⱼ wⱼ ln wⱼ");
  lesson.table(wave_heads_table(lesson, first));
  lesson.table(wave_seeds_table(lesson, numbers));
  double distinct = 0;
  std::vector<double> entropies;
  for (const auto& heads : numbers.heads) {
    std::set<int64_t> lags;
    for (const auto& head : heads) {
      lags.insert(head.lag);
      entropies.push_back(head.entropy);
    }
    distinct += static_cast<double>(lags.size()) / static_cast<double>(numbers.heads.size());
  }
  const auto entropy = mean_std(entropies);
  const bool different = distinct > 0.6 * static_cast<double>(first.size());
  lesson.say(different ? "heads.different" : "heads.alike", fmt::arg("distinct", distinct),
             fmt::arg("heads", first.size()));
  lesson.say("heads.spread", fmt::arg("entropy", entropy.mean), fmt::arg("deviation", entropy.std),
             fmt::arg("uniform", uniform));
  lesson.figure("05_multihead_analysis", head_roles_figure(lesson, numbers),
                lesson.word("heads.caption"));
}

plot::Table importance_table(const Lesson& lesson, const StepSummary& attention,
                             const StepSummary& transformer, const StepSummary& rnn) {
  constexpr size_t kShownSteps = 8;
  plot::Table table{
      .title = lesson.word("importance.table"),
      .header = {
          lesson.word("importance.step"), lesson.word("importance.attention"),
          lesson.word("importance.occlusion",
                      fmt::arg("network", wave_network_word(lesson, WaveNetwork::Transformer))),
          lesson.word("importance.occlusion",
                      fmt::arg("network", wave_network_word(lesson, WaveNetwork::Rnn)))}};
  for (size_t i = 0; i < std::min(kShownSteps, attention.mean.size()); ++i)
    table.rows.push_back({std::to_string(i), fmt::format("{:.3f}", attention.mean[i]),
                          fmt::format("{:.3f}", transformer.mean[i]),
                          fmt::format("{:.3f}", rnn.mean[i])});
  return table;
}

/// The correlation of the two measures over the steps back from `first_step` on.
MeanStd attention_and_occlusion(const SequenceNumbers& numbers, int64_t first_step) {
  const auto& occlusion = numbers.networks.front().occlusion;
  std::vector<double> correlations;
  for (size_t seed = 0; seed < numbers.heads.size(); ++seed) {
    const auto attention = mean_attention(numbers.heads[seed]);
    correlations.push_back(
        correlation({attention.begin() + first_step, attention.end()},
                    {occlusion[seed].begin() + first_step, occlusion[seed].end()}));
  }
  return mean_std(correlations);
}

void teach_step_importance(Lesson& lesson, const SequenceNumbers& numbers) {
  const auto &transformer = numbers.networks[0], &rnn = numbers.networks[1];
  lesson.section("importance.title");
  lesson.say("importance.text");
  lesson.table(importance_table(lesson, attention_summary(numbers), occlusion_summary(transformer),
                                occlusion_summary(rnn)));
  const auto r = attention_and_occlusion(numbers, /*first_step=*/0);
  lesson.say(r.mean > 0.7   ? "importance.agree"
             : r.mean > 0.3 ? "importance.partly"
                            : "importance.disagree",
             fmt::arg("r", r.mean), fmt::arg("deviation", r.std));
  const auto others = attention_and_occlusion(numbers, /*first_step=*/1);
  lesson.say("importance.residual", fmt::arg("r", others.mean), fmt::arg("deviation", others.std));
  lesson.figure("05_position_importance", position_importance_figure(lesson, numbers),
                lesson.word("importance.caption"));
}

}  // namespace

void teach_inside_transformer(Lesson& lesson, const SequenceNumbers& numbers) {
  teach_wave_attention(lesson, numbers);
  teach_wave_heads(lesson, numbers);
  teach_step_importance(lesson, numbers);
}

}  // namespace vitrine::labs
