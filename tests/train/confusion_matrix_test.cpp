#include "vitrine/train/confusion_matrix.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/support/errors.h"
#include "vitrine/train/run_records.h"

namespace vitrine {
namespace {

/// The example in scikit-learn's documentation of classification_report.
ConfusionMatrix example(std::vector<std::string> classes = {"class 0", "class 1", "class 2"}) {
  ConfusionMatrix matrix(std::move(classes));
  const int64_t truth[] = {0, 1, 2, 2, 2}, predicted[] = {0, 0, 2, 2, 1};
  for (int i = 0; i < 5; ++i) matrix.add(truth[i], predicted[i]);
  return matrix;
}

}  // namespace

TEST(ConfusionMatrix, CountsTruthsInRowsAndPredictionsInColumns) {
  const auto matrix = example();
  EXPECT_EQ(matrix.counts, (std::vector<int64_t>{1, 0, 0, 1, 0, 0, 0, 1, 2}));
  EXPECT_EQ(matrix.at(2, 1), 1);
  EXPECT_EQ(matrix.total(), 5);
  EXPECT_DOUBLE_EQ(matrix.accuracy(), 0.6);
}

TEST(ConfusionMatrix, RefusesClassesThatItDoesNotHave) {
  ConfusionMatrix matrix({"a", "b"});
  EXPECT_EQ(test::error_of([&] { matrix.add(2, 0); }),
            "confusion matrix: class 2 is not one of the 2 classes");
  EXPECT_EQ(test::error_of([&] { matrix.add(0, -1); }),
            "confusion matrix: class -1 is not one of the 2 classes");
  EXPECT_EQ(matrix.total(), 0);
}

TEST(ClassScores, EqualTheNumbersDoneByHand) {
  ConfusionMatrix matrix({"cat", "dog"});
  matrix.counts = {8, 2, 4, 6};
  const auto cat = class_scores(matrix, 0), dog = class_scores(matrix, 1);
  EXPECT_DOUBLE_EQ(cat.precision, 8.0 / 12);
  EXPECT_DOUBLE_EQ(cat.recall, 8.0 / 10);
  EXPECT_DOUBLE_EQ(cat.f1, 16.0 / 22);
  EXPECT_EQ(cat.support, 10);
  EXPECT_DOUBLE_EQ(dog.precision, 6.0 / 8);
  EXPECT_DOUBLE_EQ(dog.recall, 6.0 / 10);
  EXPECT_DOUBLE_EQ(dog.f1, 12.0 / 18);
}

TEST(ClassScores, AverageByClassAndBySupport) {
  ConfusionMatrix matrix({"many", "few"});
  matrix.counts = {6, 2, 0, 2};  // precision 1 and 1/2, recall 3/4 and 1, support 8 and 2
  const auto macro = macro_average(matrix), weighted = weighted_average(matrix);
  EXPECT_DOUBLE_EQ(macro.precision, 0.75);
  EXPECT_DOUBLE_EQ(macro.recall, 0.875);
  EXPECT_DOUBLE_EQ(weighted.precision, 0.8 * 1 + 0.2 * 0.5);
  EXPECT_DOUBLE_EQ(weighted.recall, 0.8 * 0.75 + 0.2 * 1);
  EXPECT_DOUBLE_EQ(weighted.f1, 0.8 * (12.0 / 14) + 0.2 * (4.0 / 6));
  EXPECT_EQ(macro.support, 10);
  EXPECT_EQ(weighted.support, 10);
}

TEST(ClassificationReport, LooksLikeScikitLearns) {
  EXPECT_EQ(classification_report(example()),
            "              precision    recall  f1-score   support\n"
            "\n"
            "     class 0       0.50      1.00      0.67         1\n"
            "     class 1       0.00      0.00      0.00         1\n"
            "     class 2       1.00      0.67      0.80         3\n"
            "\n"
            "    accuracy                           0.60         5\n"
            "   macro avg       0.50      0.56      0.49         5\n"
            "weighted avg       0.70      0.60      0.61         5\n");
}

TEST(ClassificationReport, GivesZeroWhereThereIsNothingToDivideBy) {
  ConfusionMatrix never({"a", "b"});
  EXPECT_EQ(never.accuracy(), 0);
  EXPECT_EQ(weighted_average(never).precision, 0);
  never.add(0, 0);  // b is neither seen nor predicted
  const auto b = class_scores(never, 1);
  EXPECT_EQ(b.precision, 0);
  EXPECT_EQ(b.recall, 0);
  EXPECT_EQ(b.f1, 0);
  EXPECT_DOUBLE_EQ(macro_average(never).f1, 0.5);
  EXPECT_DOUBLE_EQ(weighted_average(never).f1, 1);
  EXPECT_TRUE(test::contains(classification_report(ConfusionMatrix({})), "accuracy"));
}

TEST(ClassificationReport, WidensForLongNames) {
  EXPECT_EQ(classification_report(example({"a", "a name of twenty-six signs", "b"})),
            "                            precision    recall  f1-score   support\n"
            "\n"
            "                         a       0.50      1.00      0.67         1\n"
            "a name of twenty-six signs       0.00      0.00      0.00         1\n"
            "                         b       1.00      0.67      0.80         3\n"
            "\n"
            "                  accuracy                           0.60         5\n"
            "                 macro avg       0.50      0.56      0.49         5\n"
            "              weighted avg       0.70      0.60      0.61         5\n");
}

TEST(ClassificationReport, GivesAHangulSyllableTwoColumns) {
  EXPECT_EQ(classification_report(example({"고양이", "새", "아주아주긴이름"})),
            "                precision    recall  f1-score   support\n"
            "\n"
            "        고양이       0.50      1.00      0.67         1\n"
            "            새       0.00      0.00      0.00         1\n"
            "아주아주긴이름       1.00      0.67      0.80         3\n"
            "\n"
            "      accuracy                           0.60         5\n"
            "     macro avg       0.50      0.56      0.49         5\n"
            "  weighted avg       0.70      0.60      0.61         5\n");
}

TEST(ClassificationReport, GivesAllDigitsAsJson) {
  const auto json =
      nlohmann::json::parse(classification_report_json(example({"고양이", "\xff", "새"})));
  EXPECT_DOUBLE_EQ(json["accuracy"], 0.6);
  EXPECT_EQ(json["classes"].size(), 3);
  EXPECT_EQ(json["classes"][0]["name"], "고양이");
  EXPECT_DOUBLE_EQ(json["classes"][2]["recall"], 2.0 / 3);
  EXPECT_EQ(json["classes"][2]["support"], 3);
  EXPECT_DOUBLE_EQ(json["macro_avg"]["precision"], 0.5);
  EXPECT_DOUBLE_EQ(json["weighted_avg"]["recall"], 0.6);
  EXPECT_EQ(json["confusion_matrix"], (nlohmann::json{{1, 0, 0}, {1, 0, 0}, {0, 1, 2}}));
}

TEST(ConfusionMap, ShowsFractionsOfTheTrueClassAndCounts) {
  ConfusionMatrix matrix({"many", "few", "none"});
  matrix.counts = {60, 30, 10, 1, 3, 0, 0, 0, 0};
  const auto map = confusion_heat_map(matrix, "Test set");
  EXPECT_EQ(map.title, "Test set: 60.58 % of 104 right");
  EXPECT_DOUBLE_EQ(map.values.at(0, 1), 0.3);
  EXPECT_DOUBLE_EQ(map.values.at(1, 1), 0.75);
  EXPECT_TRUE(std::isnan(map.values.at(2, 2)));  // nothing to divide by
  EXPECT_EQ(map.cell_text, (std::vector<std::string>{"60", "30", "10", "1", "3", "0", "", "", ""}));
  EXPECT_EQ(map.low, 0);
  EXPECT_EQ(map.high, 1);
  EXPECT_TRUE(map.annotate);
  EXPECT_TRUE(test::contains(map.color_label, "fraction of the true class"));
  EXPECT_FALSE(confusion_heat_map(ConfusionMatrix(std::vector<std::string>(60, "c")), "").annotate);
}

namespace {

MetricsLine epoch_line(int64_t epoch, double train, double accuracy, double loss) {
  return {"epoch",
          epoch,
          10 * epoch,
          0,
          {{"train_loss", 1},
           {"train_accuracy", train},
           {"validation_loss", loss},
           {"validation_accuracy", accuracy}}};
}

const Metric kLoss{.name = "loss"},
    kAccuracy{.name = "accuracy", .unit = "%", .higher_is_better = true};

}  // namespace

TEST(Curves, MarkTheEpochOfTheBestCheckpoint) {
  // Epochs 2 and 3 are equally accurate; 3 has the lower loss, 4 only the better training.
  const std::vector<MetricsLine> lines = {
      epoch_line(1, 0.4, 0.5, 0.9), epoch_line(2, 0.6, 0.7, 0.8), epoch_line(3, 0.7, 0.7, 0.6),
      epoch_line(4, 0.9, 0.6, 0.5)};
  const auto figure = curves_figure("run", lines, {kLoss, kAccuracy}, kAccuracy);
  ASSERT_EQ(figure.panels.size(), 2u);
  const double expected[] = {0.6, 70};
  for (size_t i = 0; i < 2; ++i) {
    const auto& best = std::get<plot::Chart>(figure.panels[i]).series.back();
    EXPECT_EQ(best.name, "best: epoch 3");
    EXPECT_EQ(best.x, (std::vector<double>{3}));
    EXPECT_DOUBLE_EQ(best.y.at(0), expected[i]);
  }
  EXPECT_EQ(figure.note, "Best checkpoint: epoch 3, validation accuracy 70.00 %.");
}

TEST(Curves, MarkNothingBeforeTheFirstEvaluation) {
  const std::vector<MetricsLine> lines = {{"epoch", 1, 10, 0, {{"train_loss", 1}}}};
  const auto figure = curves_figure("run", lines, {kLoss}, kLoss);
  EXPECT_EQ(std::get<plot::Chart>(figure.panels.at(0)).series.size(), 1u);
  EXPECT_TRUE(figure.note.empty());
}

TEST(Curves, OfFewEpochsShowWhatHappenedInside) {
  const std::vector<MetricsLine> lines = {
      {"step", 1, 2, 0, {{"loss", 3}}},
      {"evaluation", 1, 2, 0, {{"validation_loss", 2.5}}},
      {"step", 1, 4, 0, {{"loss", 2}}},
      {"epoch", 1, 4, 0, {{"train_loss", 2.4}, {"validation_loss", 1.5}}}};
  const auto figure = curves_figure("run", lines, {kLoss}, kLoss);
  const auto& chart = std::get<plot::Chart>(figure.panels.at(0));
  ASSERT_EQ(chart.series.size(), 4);  // train, validation, single batches, best
  EXPECT_EQ(chart.series[0].x, std::vector<double>{1});
  EXPECT_EQ(chart.series[1].x, (std::vector<double>{0.5, 1}));
  EXPECT_EQ(chart.series[1].y, (std::vector<double>{2.5, 1.5}));
  EXPECT_EQ(chart.series[2].name, "single batches");
  EXPECT_EQ(chart.series[2].x, (std::vector<double>{0.5, 1}));
  EXPECT_EQ(chart.series[2].y, (std::vector<double>{3, 2}));
}

}  // namespace vitrine
