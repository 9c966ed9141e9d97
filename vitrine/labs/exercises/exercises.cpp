#include <algorithm>
#include <cmath>
#include <functional>

#include "vitrine/labs/exercises/numbers.h"
#include "vitrine/labs/lab.h"
#include "vitrine/labs/self_attention/figures.h"
#include "vitrine/labs/self_attention/sentence_model.h"

namespace vitrine::labs::exercises {
namespace {

std::string kind_word(const Lesson& lesson, const PositionsRow& row) {
  return lesson.word("kind." + row.kind);
}

plot::Table kinds_table(const Lesson& lesson, const PositionsExercise& exercise) {
  plot::Table table{
      .title = lesson.word("table", fmt::arg("seeds", exercise.sizes.seeds)),
      .header = lesson.words({"kind.name", "rate", "mse", "shuffling", "parameters"})};
  for (const auto& row : exercise.rows)
    table.rows.push_back({kind_word(lesson, row), fmt::format("{:g}", row.score.rate),
                          mean_std_text(row.score.error, 5),
                          fmt::format("{:.2g}", row.shuffling.mean),
                          std::to_string(row.score.parameters)});
  return table;
}

plot::Figure kinds_figure(const Lesson& lesson, const PositionsExercise& exercise) {
  plot::Chart errors{.title = lesson.word("figure.errors"),
                     .y = {.label = lesson.word("figure.mse"), .log = true}};
  plot::Chart curves{.title = lesson.word("figure.curves"),
                     .x = {.label = lesson.word("figure.epoch")},
                     .y = {.label = lesson.word("figure.mse"), .log = true}};
  // Dots: on this axis bars would have no zero to stand on.
  plot::Series dots{.name = lesson.word("figure.trained"), .mark = plot::Mark::Points, .color = 0};
  for (const auto& row : exercise.rows) {
    errors.x.names.push_back(kind_word(lesson, row));
    dots.y.push_back(row.score.error.mean);
    dots.error.push_back(row.score.error.std);
    curves.series.push_back(
        {.name = kind_word(lesson, row), .x = row.score.epochs, .y = row.score.curve});
  }
  const double edge = static_cast<double>(exercise.rows.size()) - 0.5;
  errors.series = {dots, plot::Series{.name = lesson.word("figure.last_value"),
                                      .x = {-0.5, edge},
                                      .y = {exercise.last_value, exercise.last_value},
                                      .stroke = plot::Stroke::Dashed,
                                      .color = 6}};
  return {.title = lesson.word("figure.title"), .columns = 2, .panels = {errors, curves}};
}

void say_if_linear_is_unseen(Lesson& lesson, const PositionsExercise& exercise) {
  constexpr double kRounding = 1e-5;
  for (const auto& row : exercise.rows)
    if (row.kind == "linear" && row.shuffling.mean < kRounding)
      lesson.say("linear_unseen", fmt::arg("change", row.shuffling.mean));
}

void say_which_kind_is_best(Lesson& lesson, const PositionsExercise& exercise) {
  const auto& none = exercise.rows.front();
  const auto best = std::min_element(
      exercise.rows.begin(), exercise.rows.end(),
      [](const auto& a, const auto& b) { return a.score.error.mean < b.score.error.mean; });
  const auto name = kind_word(lesson, *best);
  if (best->kind == none.kind)
    lesson.say("none_is_best");
  else
    lesson.say("best", fmt::arg("best", name),
               fmt::arg("ratio", none.score.error.mean / best->score.error.mean));
}

plot::Table head_counts_table(const Lesson& lesson, const HeadsExercise& exercise) {
  plot::Table table{.title = lesson.word("table", fmt::arg("seeds", exercise.sizes.seeds)),
                    .header = lesson.words({"heads", "head_width", "rate", "mse", "entropy",
                                            "places", "parameters", "seconds"})};
  for (const auto& row : exercise.rows)
    table.rows.push_back({std::to_string(row.heads), std::to_string(exercise.width / row.heads),
                          fmt::format("{:g}", row.score.rate), mean_std_text(row.score.error, 5),
                          mean_std_text(row.entropy, 2), fmt::format("{:.1f}", row.distinct_lags),
                          std::to_string(row.score.parameters),
                          fmt::format("{:.1f}", row.score.seconds)});
  return table;
}

plot::Chart head_counts_chart(const Lesson& lesson, const HeadsExercise& exercise,
                              const std::string& title, plot::Axis y) {
  plot::Chart chart{.title = lesson.word(title),
                    .x = {.label = lesson.word("figure.heads")},
                    .y = std::move(y),
                    .width = 280};
  for (const auto& row : exercise.rows) chart.x.names.push_back(std::to_string(row.heads));
  return chart;
}

plot::Figure head_counts_figure(const Lesson& lesson, const HeadsExercise& exercise) {
  auto errors = head_counts_chart(lesson, exercise, "figure.errors",
                                  {.label = lesson.word("figure.mse"), .low = 0});
  auto entropy = head_counts_chart(lesson, exercise, "figure.entropies",
                                   {.label = lesson.word("figure.entropy"), .low = 0});
  auto time = head_counts_chart(lesson, exercise, "figure.times",
                                {.label = lesson.word("figure.seconds"), .low = 0});
  plot::Series mse{.mark = plot::Mark::Bars, .color = 0},
      nats{.mark = plot::Mark::Bars, .color = 2}, seconds{.mark = plot::Mark::Bars, .color = 1};
  plot::Series seeds{.name = lesson.word("figure.seed"), .mark = plot::Mark::Points, .color = 6};
  for (const auto& row : exercise.rows) {
    mse.y.push_back(row.score.error.mean);
    nats.y.push_back(row.entropy.mean);
    nats.error.push_back(row.entropy.std);
    seconds.y.push_back(row.score.seconds);
    for (const double one : row.score.mse) {
      seeds.x.push_back(static_cast<double>(&row - exercise.rows.data()));
      seeds.y.push_back(one);
    }
  }
  errors.series = {mse, seeds};
  entropy.series = {nats};
  time.series = {seconds};
  return {.title = lesson.word("figure.title", fmt::arg("width", exercise.width)),
          .columns = 3,
          .panels = {errors, entropy, time}};
}

void say_which_count_is_best(Lesson& lesson, const HeadsExercise& exercise) {
  auto ranked = exercise.rows;
  std::sort(ranked.begin(), ranked.end(),
            [](const auto& a, const auto& b) { return a.score.error.mean < b.score.error.mean; });
  const auto &best = ranked.front(), &worst = ranked.back();
  const bool clear =
      worst.score.error.mean - best.score.error.mean > worst.score.error.std + best.score.error.std;
  lesson.say(clear ? "clear" : "close", fmt::arg("best", best.heads),
             fmt::arg("worst", worst.heads),
             fmt::arg("ratio", worst.score.error.mean / best.score.error.mean));
}

std::string row_word(const Lesson& lesson, const LengthsRow& row) {
  return lesson.word("network." + sequences::network_name(row.network));
}

/// One row per length with a number of each network.
plot::Table by_length_table(const Lesson& lesson, const LengthsExercise& exercise,
                            const std::string& title,
                            const std::function<std::string(const LengthPoint&)>& number) {
  plot::Table table{.title = lesson.word(title), .header = {lesson.word("length")}};
  for (const auto& row : exercise.rows) table.header.push_back(row_word(lesson, row));
  const auto& points = exercise.rows.front().points;
  for (size_t i = 0; i < points.size(); ++i) {
    Cells cells = {std::to_string(points[i].length)};
    for (const auto& row : exercise.rows) cells.push_back(number(row.points[i]));
    table.rows.push_back(std::move(cells));
  }
  return table;
}

plot::Table times_table(const Lesson& lesson, const LengthsExercise& exercise) {
  auto table = by_length_table(lesson, exercise, "times_table", [](const LengthPoint& point) {
    return fmt::format("{:.2f}", point.milliseconds);
  });
  Cells exponents = {lesson.word("exponent")};
  for (const auto& row : exercise.rows) exponents.push_back(fmt::format("{:.2f}", row.exponent));
  table.rows.push_back(std::move(exponents));
  return table;
}

plot::Chart by_length_chart(const Lesson& lesson, const LengthsExercise& exercise,
                            const std::string& title, const std::string& axis,
                            double LengthPoint::*number) {
  plot::Chart chart{.title = lesson.word(title),
                    .x = {.label = lesson.word("figure.length"), .log = true},
                    .y = {.label = lesson.word(axis), .log = true},
                    .height = 280};
  for (const auto& row : exercise.rows) {
    plot::Series line{.name = row_word(lesson, row), .markers = true};
    for (const auto& point : row.points) {
      line.x.push_back(static_cast<double>(point.length));
      line.y.push_back(point.*number);
    }
    chart.series.push_back(std::move(line));
  }
  return chart;
}

/// The row whose point at the greatest length has the smallest `number`.
const LengthsRow& least_at_the_end(const LengthsExercise& exercise, double LengthPoint::*number) {
  return *std::min_element(exercise.rows.begin(), exercise.rows.end(),
                           [&](const auto& one, const auto& other) {
                             return one.points.back().*number < other.points.back().*number;
                           });
}

const LengthsRow& network_row(const LengthsExercise& exercise, sequences::WaveNetwork network) {
  return *std::find_if(exercise.rows.begin(), exercise.rows.end(),
                       [&](const auto& row) { return row.network == network; });
}

void say_times(Lesson& lesson, const LengthsExercise& exercise) {
  const auto& fastest = least_at_the_end(exercise, &LengthPoint::milliseconds);
  const auto& transformer = network_row(exercise, sequences::WaveNetwork::Transformer);
  const auto& rnn = network_row(exercise, sequences::WaveNetwork::Rnn);
  lesson.say("times", fmt::arg("transformer", transformer.exponent), fmt::arg("rnn", rnn.exponent),
             fmt::arg("length", fastest.points.back().length),
             fmt::arg("fastest", row_word(lesson, fastest)),
             fmt::arg("milliseconds", fastest.points.back().milliseconds));
}

void say_errors(Lesson& lesson, const LengthsExercise& exercise) {
  const auto& best = least_at_the_end(exercise, &LengthPoint::mse);
  const auto& transformer = network_row(exercise, sequences::WaveNetwork::Transformer);
  const auto& rnn = network_row(exercise, sequences::WaveNetwork::Rnn);
  const auto growth = [](const LengthsRow& row) {
    return row.points.back().mse / row.points.front().mse;
  };
  lesson.say("errors", fmt::arg("length", best.points.back().length),
             fmt::arg("best", row_word(lesson, best)), fmt::arg("mse", best.points.back().mse),
             fmt::arg("first", best.points.front().length),
             fmt::arg("transformer", growth(transformer)), fmt::arg("rnn", growth(rnn)));
}

/// The tokens; words that occur more than once with their places: "the#1", "the#5".
std::vector<std::string> told_apart(std::vector<std::string> labels) {
  const auto words = labels;
  for (size_t i = 0; i < words.size(); ++i)
    if (std::count(words.begin(), words.end(), words[i]) > 1) labels[i] += fmt::format("#{}", i);
  return labels;
}

/// "cat 0.53": where a token looks most.
std::string strongest_link(const plot::Matrix& head, int64_t token,
                           const std::vector<std::string>& labels) {
  const auto row = head.values.begin() + token * head.columns;
  const auto strongest = std::max_element(row, row + head.columns);
  return fmt::format("{} {:.2f}", labels[strongest - row], *strongest);
}

/// The strongest link of each word in each head of a layer.
plot::Table link_table(const Lesson& lesson, const self_attention::SentenceAttention& sentence,
                       size_t layer) {
  const auto labels = told_apart(self_attention::token_labels(lesson, sentence));
  const auto& heads = sentence.layers[layer];
  plot::Table table{.title = lesson.word("links", fmt::arg("layer", layer + 1)),
                    .header = {lesson.word("word")},
                    .rows = {}};
  for (size_t head = 0; head < heads.size(); ++head)
    table.header.push_back(lesson.word("head", fmt::arg("head", head + 1)));
  for (size_t token = 1; token < labels.size(); ++token) {
    std::vector<std::string> row{labels[token]};
    for (const auto& head : heads)
      row.push_back(strongest_link(head, static_cast<int64_t>(token), labels));
    table.rows.push_back(std::move(row));
  }
  return table;
}

void show_sentence(Lesson& lesson, const self_attention::SentenceModel& model,
                   const std::string& text, const std::string& figure_name) {
  const auto sentence = model.read(text);
  lesson.say("sentence", fmt::arg("sentence", text), fmt::arg("words", sentence.tokens.size() - 1));
  if (!sentence.unknown.empty())
    lesson.say("unknown", fmt::arg("words", fmt::format("{}", fmt::join(sentence.unknown, ", "))));
  for (size_t layer = 0; layer < sentence.layers.size(); ++layer)
    lesson.table(link_table(lesson, sentence, layer));
  const auto title = lesson.word("figure", fmt::arg("sentence", text),
                                 fmt::arg("sentences", model.training().sentences),
                                 fmt::arg("perplexity", model.training().perplexity));
  lesson.figure(figure_name, self_attention::head_figure(lesson, sentence, title),
                lesson.word("caption"));
}

}  // namespace

void teach_positions_exercise(Lesson& lesson, const LabOptions& options) {
  lesson.say("intro");
  lesson.say("method");
  const auto exercise =
      train_positions_exercise(options, lesson.word("progress"), lesson.word("unit"));
  lesson.table(kinds_table(lesson, exercise));
  lesson.say("shuffled", fmt::arg("change", exercise.rows.front().shuffling.mean));
  say_if_linear_is_unseen(lesson, exercise);
  say_which_kind_is_best(lesson, exercise);
  lesson.figure("exercise_positions", kinds_figure(lesson, exercise), lesson.word("caption"));
  lesson.say("next");
}

void teach_heads_exercise(Lesson& lesson, const LabOptions& options) {
  lesson.say("intro");
  lesson.say("method");
  const auto exercise = train_heads_exercise(options, lesson.word("progress"), lesson.word("unit"));
  lesson.table(head_counts_table(lesson, exercise));
  const double length = static_cast<double>(exercise.sizes.length);
  lesson.say("columns", fmt::arg("uniform", std::log(length)));
  say_which_count_is_best(lesson, exercise);
  lesson.figure("exercise_heads", head_counts_figure(lesson, exercise), lesson.word("caption"));
  lesson.say("next");
}

void teach_rnn_exercise(Lesson& lesson, const LabOptions& options) {
  lesson.say("intro");
  lesson.say("method");
  const auto exercise =
      train_lengths_exercise(options, lesson.word("progress"), lesson.word("unit"));
  lesson.table(by_length_table(lesson, exercise, "errors_table", [](const LengthPoint& point) {
    return fmt::format("{:.5f}", point.mse);
  }));
  say_errors(lesson, exercise);
  lesson.table(times_table(lesson, exercise));
  say_times(lesson, exercise);
  plot::Figure figure{.title = lesson.word("figure.title"), .columns = 2};
  figure.panels = {
      by_length_chart(lesson, exercise, "figure.errors", "figure.mse", &LengthPoint::mse),
      by_length_chart(lesson, exercise, "figure.times", "figure.milliseconds",
                      &LengthPoint::milliseconds)};
  lesson.figure("exercise_rnn", figure, lesson.word("caption"));
  lesson.say("next");
}

void teach_sentence_exercise(Lesson& lesson, const LabOptions& options) {
  auto sentences = options.sentences;
  if (sentences.empty()) sentences.emplace_back(self_attention::kCatSentence);
  for (const auto& sentence : sentences) self_attention::check_sentence(sentence);

  lesson.say("intro");
  const self_attention::SentenceModel model(options);
  const auto& training = model.training();
  lesson.say("model", fmt::arg("sentences", training.sentences),
             fmt::arg("vocabulary", training.vocabulary), fmt::arg("seconds", training.seconds),
             fmt::arg("before", training.untrained_perplexity),
             fmt::arg("after", training.perplexity));
  for (size_t i = 0; i < sentences.size(); ++i)
    show_sentence(
        lesson, model, sentences[i],
        sentences.size() == 1 ? "exercise_sentence" : fmt::format("exercise_sentence_{}", i + 1));
  lesson.say("try");
}

}  // namespace vitrine::labs::exercises
