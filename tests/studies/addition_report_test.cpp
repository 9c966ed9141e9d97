#include "vitrine/studies/addition/report.h"

#include <gtest/gtest.h>

#include <set>

#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/translations.h"
#include "vitrine/studies/addition/findings.h"
#include "vitrine/train/metrics.h"

namespace vitrine::addition {
namespace {

const std::set<std::string> kAllFigures = {"sweep1_cnn",
                                           "sweep1_transformer",
                                           "sweep2_cnn",
                                           "sweep2_transformer",
                                           "learning_rate",
                                           "training_loss",
                                           "errors_cnn",
                                           "errors_transformer",
                                           "errors_box",
                                           "errors_top",
                                           "error_kinds",
                                           "low_rate_errors_cnn",
                                           "low_rate_errors_transformer",
                                           "low_rate_errors_box",
                                           "low_rate_errors_top",
                                           "low_rate_error_kinds",
                                           "held_out",
                                           "attention_pair",
                                           "attention_carry"};

/// Loses the carry from the units in the first `lost` pairs that have one.
AdditionAnswers answers(int lost) {
  AdditionAnswers result{"made up", {}};
  for (int pair = 0; pair < kAdditionPairs; ++pair) {
    const bool loses = lost > 0 && pair / 100 % 10 + pair % 10 >= 10;
    result.sums.push_back(true_sum(pair) - (loses ? 10 : 0));
    lost -= loses;
  }
  return result;
}

SweepRun run(int64_t seed, double accuracy, StopReason reason = StopReason::Finished) {
  const Metrics metrics = {{"loss", 1.01 - accuracy}, {"accuracy", accuracy}};
  return {.seed = seed,
          .outcome = RunOutcome{
              .stop_reason = reason,
              .selection_metric = {.name = "accuracy", .unit = "%", .higher_is_better = true},
              .validation = metrics,
              .test = metrics,
              .epochs = 100,
              .seconds = 10,
              .parameters = 1000,
              .checkpoint_bytes = 5000}};
}

void set_accuracy(SweepRun& run, double accuracy) {
  run.outcome->test = run.outcome->validation = {{"loss", 1.01 - accuracy}, {"accuracy", accuracy}};
}

/// One point per value, each with two seeds close to its accuracy.
SweepResult sweep(const std::string& key, const std::vector<std::pair<std::string, double>>& points,
                  const std::string& axis = "") {
  SweepResult result{"made up", {}};
  for (const auto& [value, accuracy] : points)
    result.points.push_back(
        {{axis, {{key, value}}}, {run(1, accuracy + 0.002), run(2, accuracy - 0.002)}});
  return result;
}

SweepResult settings_sweep(const std::string& width_key) {
  auto result = sweep(kEmbedKey, {{"4", 0.5}, {"8", 0.7}}, kEmbedKey);
  for (const auto& key : {std::string(kLayersKey), width_key})
    for (const auto& point : sweep(key, {{"2", 0.6}, {"4", 0.8}}, key).points)
      result.points.push_back(point);
  result.points.back().runs[0].outcome->stop_reason = StopReason::OverBudget;
  result.points.front().runs[1].outcome.reset();
  return result;
}

TrainedNetwork trained(int64_t seed, int lost, const fs::path& metrics) {
  return {.seed = seed,
          .settings = {{kEmbedKey, "8"}, {kLearningRateKey, "6e-3"}},
          .answers = answers(lost),
          .metrics = metrics,
          .predict_milliseconds = 40,
          .train_seconds = 100,
          .bytes = 20480,
          .parameters = 4200};
}

fs::path write_metrics(const fs::path& path) {
  MetricsFile file(path, /*keep_bytes=*/-1);
  for (int64_t epoch = 1; epoch <= 20; ++epoch)
    file.add({"epoch", epoch, epoch, 0, {{"train_loss", 1.0 / epoch}, {"seconds", 0.5 * epoch}}});
  return path;
}

AttentionStudy attention() {
  const std::vector<std::string> tokens = {"5", "7", "6", "8"};
  AttentionStudy study{.heads = 2};
  for (const auto* title : {"L1 H1", "L1 H2"}) {
    study.pair.push_back({title, tokens, std::vector<double>(16, 0.25)});
    study.carry_difference.push_back({title, tokens, std::vector<double>(16, 0.01)});
  }
  study.carry_difference[1].weights[7] = -0.31;
  return study;
}

Sweeps flipping_rates() {
  return {sweep(kLearningRateKey, {{"1e-4", 0.4}, {"1e-2", 0.99}}),
          sweep(kLearningRateKey, {{"0.0001", 0.8}, {"0.01", 0.9}})};
}

AdditionStudy whole_study(const fs::path& folder) {
  const auto metrics = write_metrics(folder / "metrics.jsonl");
  AdditionStudy study;
  study.first_sweep = {settings_sweep(kChannelsKey), settings_sweep(kHiddenKey)};
  study.second_sweep = study.first_sweep;
  study.rates = flipping_rates();
  study.tuned = {{trained(1, 0, metrics), trained(2, 0, metrics)}, {trained(1, 10, metrics)}};
  study.low_rate = {{trained(1, 2000, {})}, {trained(1, 1000, {})}};
  study.held_out = {sweep(kHeldOutKey, {{"0.1", 0.99}, {"0.5", 0.8}}),
                    sweep(kHeldOutKey, {{"0.1", 0.99}, {"0.5", 0.6}})};
  study.small = {sweep(kEmbedKey, {{"2", 0.97}}), sweep(kEmbedKey, {{"2", 0.95}})};
  study.small.cnn.points[0].runs = {run(1, 1), run(2, 1)};
  study.attention = attention();
  return study;
}

std::set<std::string> names_in(const fs::path& folder, const std::string& extension) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().extension() == extension) names.insert(entry.path().stem().string());
  return names;
}

size_t occurrences(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) ++count;
  return count;
}

testing::AssertionResult lacks(const std::string& text, const std::string& part) {
  if (text.find(part) == std::string::npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "'" << part << "' should not be there";
}

}  // namespace

TEST(AdditionReport, OfAWholeStudyHoldsEveryFigureInBothLanguages) {
  test::TemporaryFolder folder;
  write_addition_report(whole_study(folder.path()), folder.path());
  for (const auto* figures : {"figures", "figures-ko"})
    for (const auto* extension : {".png", ".svg"})
      EXPECT_EQ(names_in(folder / figures, extension), kAllFigures) << figures << extension;

  const auto english = read_file(folder / "report.html");
  EXPECT_EQ(occurrences(english, "<figure>"), kAllFigures.size());
  EXPECT_TRUE(test::contains(english, "The winner flips. At a learning rate of 0.01 the CNN"));
  EXPECT_TRUE(test::contains(english, "CNN: every one of the 10,000 sums right (runs: 2)."));
  EXPECT_TRUE(test::contains(english, "Largest change: in L1 H2, from token 7 to token 8: -0.31"));
  EXPECT_TRUE(lacks(english, "Not run yet"));

  const auto korean = read_file(folder / "report.ko.html");
  EXPECT_EQ(occurrences(korean, "<figure>"), kAllFigures.size());
  EXPECT_TRUE(test::contains(korean, "<html lang=\"ko\">"));
  EXPECT_TRUE(test::contains(korean, "승자가 뒤바뀝니다"));
  EXPECT_TRUE(lacks(korean, "아직 실행하지 않아"));

  const auto tables = read_file(folder / "results.md");
  EXPECT_TRUE(test::contains(tables,
                             "| right of 10,000, by seed | 10,000 / 10,000 | 10,000 | "
                             "9,990 | 10,000 |"));
  EXPECT_TRUE(test::contains(tables, "| 1 | -10 | 2,000 | 100.0 | -10 | 1,000 | 100.0 |"));
  EXPECT_TRUE(lacks(tables, "Not run yet"));
  EXPECT_TRUE(test::contains(read_file(folder / "results.ko.md"), "| 시드별 정답 수 (10,000쌍) |"));
}

TEST(AdditionReport, IsWrittenInTheLanguagesAskedFor) {
  test::TemporaryFolder folder;
  write_addition_report({}, folder.path(), {"ko"});
  EXPECT_TRUE(test::contains(read_file(folder / "report.ko.html"), "첫 번째 스윕(CNN)"));
  EXPECT_FALSE(fs::exists(folder / "report.html"));
  EXPECT_TRUE(
      test::contains(test::error_of([&] { write_addition_report({}, folder.path(), {"fr"}); }),
                     "language 'fr' is not known"));
}

TEST(AdditionReport, NamesWhatIsMissingAndInventsNothing) {
  test::TemporaryFolder folder;
  AdditionStudy study;
  study.tuned.cnn = {trained(1, 0, folder / "no_such_metrics.jsonl")};
  write_addition_report(study, folder.path());
  EXPECT_EQ(names_in(folder / "figures", ".png"),
            (std::set<std::string>{"errors_cnn", "errors_box"}));
  EXPECT_TRUE(test::contains(read_file(folder / "figures" / "errors_cnn.svg"),
                             "no wrong answer in 10,000 pairs"));

  const auto page = read_file(folder / "report.html");
  for (const auto* part :
       {"first sweep (CNN)", "second sweep (Transformer)", "learning rates (CNN)",
        "final network (Transformer)", "training loss of the final network (CNN)",
        "training with a low learning rate (CNN)", "held-out pairs (Transformer)",
        "small networks (CNN)", "attention maps of the Transformer"})
    EXPECT_TRUE(test::contains(page, part));
  EXPECT_TRUE(lacks(page, ", final network (CNN)"));
  for (const auto* invented : {"winner", "Transformer:", "Highest mean accuracy"})
    EXPECT_TRUE(lacks(page, invented));
  EXPECT_TRUE(lacks(read_file(folder / "results.md"), "14,660"));
}

TEST(AdditionReport, DoesNotClaimAFlipThatTheDataDoesNotShow) {
  test::TemporaryFolder folder;
  AdditionStudy study;
  study.rates = {sweep(kLearningRateKey, {{"1e-4", 0.8}, {"1e-2", 0.99}}),
                 sweep(kLearningRateKey, {{"1e-4", 0.4}, {"1e-2", 0.989}})};
  write_addition_report(study, folder.path());
  const auto page = read_file(folder / "report.html");
  EXPECT_TRUE(test::contains(page, "the winner does not flip"));
  EXPECT_TRUE(lacks(page, "The winner flips"));
  EXPECT_TRUE(lacks(page, "can therefore be made to favour either"));
}

TEST(AdditionFindings, OnlyAClearLeadCounts) {
  const auto points = shared_points(flipping_rates(), kLearningRateKey);
  ASSERT_EQ(points.size(), 2);
  EXPECT_EQ(points[0].lead, Architecture::Transformer);
  EXPECT_EQ(points[1].lead, Architecture::Cnn);
  EXPECT_TRUE(winner_flips(points));

  auto close = flipping_rates();
  close.transformer.points[1].runs = {run(1, 0.99), run(2, 0.985)};
  EXPECT_FALSE(shared_points(close, kLearningRateKey)[1].lead);
  EXPECT_FALSE(winner_flips(shared_points(close, kLearningRateKey)));

  close.transformer.points[1].runs = {{.seed = 1, .error = "no memory"}};
  EXPECT_EQ(shared_points(close, kLearningRateKey).size(), 1);
}

TEST(AdditionFindings, TheSmallestNetworkIsOneThatWasRightInSomeRun) {
  auto small = sweep(kEmbedKey, {{"2", 0.9}, {"4", 0.9}, {"8", 0.9}});
  for (size_t i = 0; i < small.points.size(); ++i)
    for (auto& r : small.points[i].runs)
      r.outcome->parameters = static_cast<int64_t>(100 * (3 - i));
  set_accuracy(small.points[0].runs[0], 1);
  set_accuracy(small.points[1].runs[0], 1);
  EXPECT_EQ(smallest_point(small, 1), &small.points[1]);
  EXPECT_EQ(runs_with(small.points[1], 1), 1);
  EXPECT_EQ(smallest_point(small, 0.8), &small.points[2]);
  small.points[1].runs[0].outcome.reset();
  EXPECT_EQ(smallest_point(small, 1), &small.points[0]);
  set_accuracy(small.points[0].runs[0], 0.9);
  EXPECT_EQ(smallest_point(small, 1), nullptr);
}

TEST(AdditionFindings, SayWhichPointIsBestAndWhatASettingMoves) {
  const auto sweep = settings_sweep(kChannelsKey);
  EXPECT_EQ(settings_text(best_point(sweep)->point.settings), "layers 4");
  EXPECT_NEAR(*accuracy_range(sweep, kLayersKey), 0.2, 1e-9);
  EXPECT_FALSE(accuracy_range(sweep, kHiddenKey).has_value());
  const auto counts = count_runs(sweep);
  EXPECT_EQ(counts.runs, 12);
  EXPECT_EQ(counts.over_budget, 1);
  EXPECT_EQ(counts.failed, 1);
}

TEST(AdditionTexts, AreAlikeInEveryLanguage) {
  test::expect_same_in_every_language(addition_texts());
}

}  // namespace vitrine::addition
