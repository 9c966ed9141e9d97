#include <algorithm>

#include "vitrine/labs/lab.h"
#include "vitrine/labs/sequences_figures.h"
#include "vitrine/labs/sequences_inside.h"
#include "vitrine/labs/sequences_numbers.h"
#include "vitrine/labs/tables.h"

namespace vitrine::labs {
namespace {

std::string wave_error_cell(double mse) { return fmt::format("{:.5f}", mse); }

std::string wave_error_cell(const MeanStd& error) {
  return fmt::format("{:.5f} ± {:.5f}", error.mean, error.std);
}

Cells headed_by_networks(const Lesson& lesson, const SequenceNumbers& numbers, Cells first) {
  for (const auto& network : numbers.networks)
    first.push_back(wave_network_word(lesson, network.network));
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
                    .header = {lesson.word("task.method"), lesson.word("mse")}};
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
      .header = {lesson.word("results.network"), lesson.word("training.rate"), lesson.word("mse"),
                 lesson.word("results.example_spread"), lesson.word("results.source"),
                 lesson.word("results.parameters"), lesson.word("results.seconds")}};
  for (const auto& network : numbers.networks) {
    const auto& score = network.score;
    const auto theirs = source_error(network.network);
    table.rows.push_back({wave_network_word(lesson, network.network),
                          fmt::format("{:g}", score.rate), wave_error_cell(score.error),
                          wave_error_cell(score.example_spread),
                          theirs ? fmt::format("{:.4f} ± {:.4f}", theirs->mean, theirs->std) : "–",
                          std::to_string(score.parameters), fmt::format("{:.1f}", score.seconds)});
  }
  return table;
}

/// Says whether Transformer and RNN stand in the order that the source reports.
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
             fmt::arg("best", wave_network_word(lesson, ranked[0].network)),
             fmt::arg("second", wave_network_word(lesson, ranked[1].network)),
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
    const auto theirs = source_error(network.network);
    if (!theirs) continue;
    const double ours = network.score.error.mean;
    lesson.say(ours < theirs->mean ? "results.below" : "results.above",
               fmt::arg("network", wave_network_word(lesson, network.network)),
               fmt::arg("ours", ours), fmt::arg("source", theirs->mean),
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

void teach_sequences(Lesson& lesson, const LabOptions& options) {
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

}  // namespace vitrine::labs
