#include <algorithm>
#include <cmath>
#include <set>

#include "vitrine/labs/lab.h"
#include "vitrine/labs/sequences/figures.h"
#include "vitrine/labs/sequences/numbers.h"

namespace vitrine::labs::sequences {
namespace {

void teach_wave_attention(Lesson& lesson, const SequenceNumbers& numbers) {
  lesson.section("attention.title");
  lesson.say("attention.text");
  lesson.figure("05_attention_patterns", wave_attention_figure(lesson, numbers),
                lesson.word("attention.caption"));
}

plot::Table wave_heads_table(const Lesson& lesson, const std::vector<HeadReading>& heads) {
  plot::Table table{.title = lesson.word("heads.table"),
                    .header = lesson.words({"heads.head", "heads.lag", "heads.peak",
                                            "heads.entropy", "heads.steady"})};
  for (size_t i = 0; i < heads.size(); ++i)
    table.rows.push_back(
        {std::to_string(i + 1), std::to_string(heads[i].lag), fmt::format("{:.2f}", heads[i].peak),
         fmt::format("{:.2f}", heads[i].entropy), fmt::format("{:.0f} %", 100 * heads[i].steady)});
  return table;
}

/// One row per seed; its heads stand in the order of their lag, as their numbers mean nothing.
plot::Table wave_seeds_table(const Lesson& lesson, const SequenceNumbers& numbers) {
  plot::Table table{
      .title = lesson.word("heads.seeds_table"),
      .header = lesson.words({"heads.seed_column", "heads.lags", "heads.entropies", "mse"})};
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
      .header = {lesson.word("importance.step"), lesson.word("importance.attention"),
                 lesson.word("importance.occlusion",
                             fmt::arg("network", network_word(lesson, WaveNetwork::Transformer))),
                 lesson.word("importance.occlusion",
                             fmt::arg("network", network_word(lesson, WaveNetwork::Rnn)))}};
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
  lesson.table(importance_table(lesson, attention_summary(numbers),
                                StepSummary(transformer.occlusion), StepSummary(rnn.occlusion)));
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

void teach_inside_transformer(Lesson& lesson, const SequenceNumbers& numbers) {
  teach_wave_attention(lesson, numbers);
  teach_wave_heads(lesson, numbers);
  teach_step_importance(lesson, numbers);
}

std::string wave_error_cell(double mse) { return fmt::format("{:.5f}", mse); }

Cells headed_by_networks(const Lesson& lesson, const SequenceNumbers& numbers, Cells first) {
  for (const auto& network : numbers.networks)
    first.push_back(network_word(lesson, network.network));
  return first;
}

void teach_wave_task(Lesson& lesson, const WaveProblem& problem) {
  const auto& sizes = problem.sizes;
  const auto& baselines = problem.baselines;
  lesson.section("task.title");
  lesson.say("task.text", fmt::arg("length", sizes.length));
  lesson.formula("y(t) = A · sin(f·t + φ)");
  lesson.say("task.data", fmt::arg("train", sizes.train), fmt::arg("validation", sizes.validation),
             fmt::arg("test", sizes.test));
  lesson.say("task.recurrence");
  lesson.formula("y(t+1) = 2 cos(f) · y(t) − y(t−1)");
  plot::Table table{.title = lesson.word("task.table"),
                    .header = lesson.words({"task.method", "mse"})};
  const auto row = [&](const std::string& key, double mse) {
    table.rows.push_back({lesson.word("task." + key), fmt::format("{:.3g}", mse)});
  };
  row("mean", baselines.mean);
  row("last", baselines.last);
  row("extrapolation", baselines.extrapolation);
  row("fitted", baselines.recurrence);
  lesson.table(table);
  lesson.say("task.seen", fmt::arg("extrapolation", baselines.extrapolation));
}

void teach_wave_rates(Lesson& lesson, const SequenceNumbers& numbers, const WaveSizes& sizes) {
  plot::Table table{.title = lesson.word("training.table", fmt::arg("epochs", sizes.trial_epochs)),
                    .header = headed_by_networks(lesson, numbers, {lesson.word("training.rate")})};
  for (size_t i = 0; i < sizes.rates.size(); ++i) {
    Cells cells = {fmt::format("{:g}", sizes.rates[i])};
    for (const auto& network : numbers.networks) {
      const auto& trial = network.score.trials[i];
      cells.push_back(wave_error_cell(trial.validation) +
                      (trial.rate == network.score.rate ? " *" : ""));
    }
    table.rows.push_back(std::move(cells));
  }
  lesson.table(table);
  lesson.say("training.seen");
}

plot::Table wave_results_table(const Lesson& lesson, const SequenceNumbers& numbers) {
  plot::Table table{
      .title = lesson.word("results.table"),
      .header = lesson.words({"results.network", "training.rate", "mse", "results.example_spread",
                              "results.source", "results.parameters", "results.seconds"})};
  for (const auto& network : numbers.networks) {
    const auto& score = network.score;
    const auto theirs = reference_error(network.network);
    table.rows.push_back({network_word(lesson, network.network), fmt::format("{:g}", score.rate),
                          mean_std_text(score.error, 5), wave_error_cell(score.example_spread),
                          theirs ? mean_std_text(*theirs, 4) : "–",
                          std::to_string(score.parameters), fmt::format("{:.1f}", score.seconds)});
  }
  return table;
}

/// Says whether Transformer and RNN stand in the order that the reference reports.
void say_source_order(Lesson& lesson, const SequenceNumbers& numbers) {
  const double transformer = numbers.networks[0].score.error.mean;
  const double rnn = numbers.networks[1].score.error.mean;
  lesson.say(transformer < rnn ? "results.same_order" : "results.other_order",
             fmt::arg("ratio", std::max(transformer, rnn) / std::min(transformer, rnn)));
}

/// Says which network has the least error and whether the seeds leave that in doubt.
void say_winner(Lesson& lesson, const SequenceNumbers& numbers) {
  auto ranked = numbers.networks;
  std::sort(ranked.begin(), ranked.end(), [](const auto& one, const auto& other) {
    return one.score.error.mean < other.score.error.mean;
  });
  const auto &best = ranked[0].score.error, &second = ranked[1].score.error;
  const bool clear = second.mean - best.mean > best.std + second.std;
  lesson.say(clear ? "results.clear" : "results.close",
             fmt::arg("best", network_word(lesson, ranked[0].network)),
             fmt::arg("second", network_word(lesson, ranked[1].network)),
             fmt::arg("ratio", second.mean / best.mean));
  lesson.say(ranked[0].network == WaveNetwork::Transformer ? "results.transformer_first"
                                                           : "results.recurrent_first");
}

void teach_wave_results(Lesson& lesson, const SequenceNumbers& numbers,
                        const WaveProblem& problem) {
  lesson.section("results.title");
  lesson.say("results.text", fmt::arg("seeds", problem.sizes.seeds),
             fmt::arg("epochs", problem.sizes.epochs));
  lesson.table(wave_results_table(lesson, numbers));
  lesson.say("results.spreads");
  for (const auto& network : numbers.networks) {
    const auto theirs = reference_error(network.network);
    if (!theirs) continue;
    const double ours = network.score.error.mean;
    lesson.say(ours < theirs->mean ? "results.below" : "results.above",
               fmt::arg("network", network_word(lesson, network.network)), fmt::arg("ours", ours),
               fmt::arg("source", theirs->mean),
               fmt::arg("ratio", std::max(ours, theirs->mean) / std::min(ours, theirs->mean)));
  }
  say_source_order(lesson, numbers);
  say_winner(lesson, numbers);
  lesson.figure("05_performance_comparison", performance_figure(lesson, numbers, problem.baselines),
                lesson.word("results.caption"));
}

void teach_wave_samples(Lesson& lesson, const SequenceNumbers& numbers) {
  lesson.section("samples.title");
  lesson.say("samples.text");
  plot::Table table{
      .title = lesson.word("samples.table"),
      .header = headed_by_networks(lesson, numbers,
                                   {lesson.word("samples.wave"), lesson.word("samples.correct")})};
  for (size_t i = 0; i < numbers.samples.size(); ++i) {
    Cells cells = {std::to_string(i + 1), fmt::format("{:.3f}", numbers.samples[i].future.front())};
    for (const auto& network : numbers.networks)
      cells.push_back(fmt::format("{:.3f}", network.continued[i].front()));
    table.rows.push_back(std::move(cells));
  }
  lesson.table(table);
  plot::Table errors{.title = lesson.word("samples.errors",
                                          fmt::arg("steps", numbers.samples.front().future.size())),
                     .header = headed_by_networks(lesson, numbers, {lesson.word("samples.ahead")}),
                     .rows = {{lesson.word("samples.one")}, {lesson.word("samples.all")}}};
  for (const auto& network : numbers.networks) {
    errors.rows[0].push_back(wave_error_cell(network.score.mse.front()));
    errors.rows[1].push_back(wave_error_cell(network.continued_error));
  }
  lesson.table(errors);
  lesson.figure("05_sample_sequences", sample_waves_figure(lesson, numbers),
                lesson.word("samples.caption"));
}

}  // namespace

void teach(Lesson& lesson, const LabOptions& options) {
  lesson.say("intro");
  const auto problem = wave_problem(options);
  teach_wave_task(lesson, problem);
  lesson.section("training.title");
  const auto& widths = problem.widths;
  lesson.say("training.networks", fmt::arg("width", widths.token), fmt::arg("heads", widths.heads),
             fmt::arg("hidden", widths.feed_forward), fmt::arg("state", widths.state));
  lesson.say("training.text", fmt::arg("rates", problem.sizes.rates.size()),
             fmt::arg("seeds", problem.sizes.seeds));
  const auto numbers =
      sequence_numbers(options, lesson.word("training.progress"), lesson.word("training.unit"));
  teach_wave_rates(lesson, numbers, problem.sizes);
  teach_wave_results(lesson, numbers, problem);
  teach_wave_samples(lesson, numbers);
  teach_inside_transformer(lesson, numbers);
  lesson.section("summary.title");
  lesson.say("summary.text");
}

}  // namespace vitrine::labs::sequences
