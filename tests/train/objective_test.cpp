// Objectives, the metrics they describe, and what a run stores of them.
#include "vitrine/train/objective.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>
#include <fstream>

#include "tests/support/errors.h"
#include "tests/support/fixed_output.h"
#include "tests/support/temporary_folder.h"
#include "vitrine/train/evaluate.h"
#include "vitrine/train/run_result.h"

namespace vitrine {
namespace {

/// Data whose tokens are words.
Splits words() {
  return {.task = Task::NextToken, .classes = {"a", "b", "c", "d", "e", "f"}, .vocabulary = 6};
}

}  // namespace

TEST(Classification, LabelSmoothingIsTheFormulaAndSharesAreAccepted) {
  const auto output = torch::tensor({{2.0, 0.0, -1.0}});
  const auto log_p = output.log_softmax(1);
  const auto target = torch::tensor({0});
  const auto smoothed = make_objective({.task = Task::Classes}, 0.3);
  const auto plain = make_objective({.task = Task::Classes}, 0);
  const auto expected = -(0.8 * log_p[0][0] + 0.1 * log_p[0][1] + 0.1 * log_p[0][2]);
  EXPECT_NEAR(test::loss_of(*smoothed, output, target), expected.item<double>(), 1e-6);
  EXPECT_EQ(test::eval_loss_of(*smoothed, output, target), test::loss_of(*plain, output, target));
  const auto shares = torch::tensor({{0.25, 0.0, 0.75}});
  EXPECT_NEAR(test::loss_of(*plain, output, shares),
              -(0.25 * log_p[0][0] + 0.75 * log_p[0][2]).item<double>(), 1e-6);
  EXPECT_EQ(plain->batch_metrics(output, shares)[0].second, 0);
  EXPECT_EQ(plain->batch_metrics(output, target)[0].second, 1);
}

TEST(Classification, TopFiveAccuracyIsCountedAmongMoreThanTenClasses) {
  const auto of_classes = [](int64_t count) {
    return make_objective(
        {.task = Task::Classes, .classes = std::vector<std::string>(count, "a class")}, 0);
  };
  EXPECT_EQ(of_classes(10)->metrics().size(), 2u);
  const auto objective = of_classes(11);
  EXPECT_EQ(objective->metrics().at(2).name, "accuracy_top5");
  EXPECT_EQ(objective->selection_metric().name, "accuracy");
  const auto output = torch::arange(11, torch::kFloat).expand({4, 11});  // class 10 is likeliest
  const auto targets = torch::tensor({10, 6, 5, 0});
  const auto sums = objective->batch_metrics(output, targets);
  EXPECT_EQ(metric_value(sums, "accuracy"), 1);
  EXPECT_EQ(metric_value(sums, "accuracy_top5"), 2);
  const auto shares = torch::nn::functional::one_hot(targets, 11).to(torch::kFloat);
  EXPECT_EQ(objective->batch_metrics(output, shares), sums);
}

TEST(Classification, BalancedWeightsAreThoseOfTorchsCrossEntropy) {
  torch::manual_seed(1);
  const Splits data{
      .task = Task::Classes, .classes = {"rare", "none", "usual"}, .class_counts = {1, 0, 9}};
  const auto balanced = make_objective(data, {0.1, ClassWeights::Balanced});
  const auto plain = make_objective(data, 0.1);
  const auto output = torch::randn({4, 3});
  const auto targets = torch::tensor({0, 2, 2, 0});
  namespace F = torch::nn::functional;
  const auto weights = torch::tensor({5.0f, 0.0f, 10.0f / 18});
  const auto expected = F::cross_entropy(
      output, targets, F::CrossEntropyFuncOptions().weight(weights).label_smoothing(0.1));
  EXPECT_NEAR(test::loss_of(*balanced, output, targets), expected.item<double>(), 1e-6);
  EXPECT_NE(test::loss_of(*plain, output, targets), test::loss_of(*balanced, output, targets));
  // Evaluation does not weight.
  EXPECT_EQ(test::eval_loss_of(*balanced, output, targets),
            test::eval_loss_of(*plain, output, targets));
  EXPECT_TRUE(test::contains(test::error_of([] {
                               make_objective(words(), {0, ClassWeights::Balanced});
                             }),
                             "set train.class_weights=none"));
}

TEST(DigitSum, IsTheMeanCrossEntropyOfTheThreeDigits) {
  torch::manual_seed(1);
  const auto output = torch::randn({5, kSumLogits});
  const auto targets = random_targets(Task::DigitSum, output);
  double expected = 0;
  for (int64_t i = 0; i < 5; ++i)
    for (int64_t digit = 0, first = 0; digit < 3; first += kSumDigitValues[digit++])
      expected -= output[i]
                      .narrow(0, first, kSumDigitValues[digit])
                      .log_softmax(0)[targets[i][digit].item<int64_t>()]
                      .item<double>();
  const auto plain = make_objective({.task = Task::DigitSum}, 0);
  EXPECT_NEAR(test::loss_of(*plain, output, targets), expected / 15, 1e-5);
  EXPECT_GT(test::loss_of(*make_objective({.task = Task::DigitSum}, 0.1), output, targets), 0);
}

TEST(DigitSum, CountsSumsWhoseDigitsAreAllRight) {
  auto output = torch::zeros({2, kSumLogits});
  const auto targets = torch::tensor({{1, 0, 7}, {0, 9, 4}}, torch::kLong);
  for (const auto place : {1, 2 + 0, 12 + 7}) output[0][place] = 1;
  for (const auto place : {0, 2 + 9, 12 + 5}) output[1][place] = 1;  // 95, not 94
  const auto objective = make_objective({.task = Task::DigitSum}, 0);
  EXPECT_EQ(objective->batch_metrics(output, targets)[0].second, 1);
  EXPECT_TRUE(test::contains(
      test::error_of([&] { test::loss_of(*objective, output.narrow(1, 0, 20), targets); }),
      "logits 2x20 and targets 2x3 do not fit groups of 2, 10, 10"));
}

TEST(NextValue, IsTorchsMeanSquaredError) {
  torch::manual_seed(1);
  const auto output = torch::randn({7}), targets = random_targets(Task::NextValue, output);
  const auto objective = make_objective({.task = Task::NextValue}, 0);
  const auto expected = torch::nn::functional::mse_loss(output, targets).item<double>();
  EXPECT_FLOAT_EQ(test::loss_of(*objective, output, targets), expected);
  MetricAccumulator sums;
  sums.add(test::eval_loss_of(*objective, output, targets),
           objective->batch_metrics(output, targets), objective->target_count(targets));
  const auto metrics = sums.metrics(*objective);
  EXPECT_FLOAT_EQ(metric_value(metrics, "mse"), expected);
  EXPECT_EQ(metric_value(metrics, "mse"), sums.loss());
  EXPECT_EQ(sums.target_count(), 7);
  EXPECT_EQ(objective->selection_metric().name, "mse");
  EXPECT_FALSE(objective->selection_metric().higher_is_better);
  EXPECT_TRUE(test::contains(test::error_of([&] {
                               test::loss_of(*objective, output, targets.view({7, 1}));
                             }),
                             "next value: output 7 does not fit targets 7x1"));
  EXPECT_TRUE(test::contains(test::error_of([] { make_objective({.task = Task::NextValue}, 0.1); }),
                             "set train.label_smoothing=0"));
}

TEST(NextToken, IsTorchsCrossEntropyOverTheCountedTokens) {
  torch::manual_seed(1);
  const auto output = torch::randn({3, 4, 6});
  auto targets = random_targets(Task::NextToken, output);
  EXPECT_EQ(targets.sizes(), (std::vector<int64_t>{3, 4}));
  targets[0][2] = targets[0][3] = targets[2][3] = kIgnoreIndex;
  const auto objective = make_objective(words(), 0);
  const auto counted = targets.flatten().ne(kIgnoreIndex);
  const auto expected = torch::nn::functional::cross_entropy(output.flatten(0, 1).index({counted}),
                                                             targets.flatten().index({counted}))
                            .item<double>();
  EXPECT_NEAR(test::loss_of(*objective, output, targets), expected, 1e-6);
  EXPECT_EQ(objective->target_count(targets), 9);
  EXPECT_NEAR(metric_value(objective->derived_metrics(expected), "perplexity"), std::exp(expected),
              1e-9);
  EXPECT_GT(test::loss_of(*make_objective(words(), 0.2), output, targets), 0);
  EXPECT_TRUE(test::contains(
      test::error_of([&] { test::loss_of(*objective, output, targets.narrow(1, 0, 3)); }),
      "next token: output 3x4x6 does not fit targets 3x3"));
}

TEST(NextToken, IsMeasuredInPerplexityOfWordsAndInBitsOfBytes) {
  const auto of_words = make_objective(words(), 0);
  EXPECT_EQ(of_words->selection_metric().name, "loss");
  EXPECT_TRUE(of_words->metrics().at(1).log_scale);
  const auto of_bytes = make_objective({.task = Task::NextToken, .vocabulary = kByteValues}, 0);
  EXPECT_EQ(of_bytes->selection_metric().name, "bits_per_dim");
  EXPECT_FALSE(of_bytes->selection_metric().higher_is_better);
  EXPECT_NEAR(metric_value(of_bytes->derived_metrics(std::log(256)), "bits_per_dim"), 8, 1e-12);
  EXPECT_EQ(of_words->make_report(), nullptr);
  EXPECT_EQ(of_bytes->make_report(), nullptr);
}

TEST(Metric, DescribesItsValues) {
  const auto accuracy = make_objective({.task = Task::Classes}, 0)->selection_metric();
  EXPECT_EQ(accuracy.text(0.98252), "98.25 %");
  EXPECT_EQ(accuracy.label(), "accuracy %");
  EXPECT_DOUBLE_EQ(accuracy.in_unit(0.5), 50);
  EXPECT_TRUE(accuracy.better(0.6, 0.5));
  EXPECT_FALSE(accuracy.better(0.5, 0.5));
  const Metric mse{.name = "mse", .log_scale = true};
  EXPECT_EQ(mse.text(0.00123), "0.00123");
  EXPECT_EQ(mse.text(0.0313), "0.0313");
  EXPECT_TRUE(mse.better(0.5, 0.6));
  EXPECT_FALSE(mse.better(std::nan(""), 0.6));
  EXPECT_TRUE(mse.better(0.6, std::nan("")));
}

TEST(MetricAccumulator, GivesTheLossWhatWasMeasuredAndWhatFollows) {
  MetricAccumulator words_sums, sums, waves;
  words_sums.add(/*mean_loss=*/2.0, {}, /*targets=*/10);
  words_sums.add(1.0, {}, 30);
  const auto text_of = [](const MetricAccumulator& of, const Objective& objective) {
    return metrics_text(of.metrics(objective), objective.metrics(), objective.selection_metric());
  };
  const auto of_words = words_sums.metrics(*make_objective(words(), 0));
  ASSERT_EQ(of_words.size(), 2u);
  EXPECT_DOUBLE_EQ(metric_value(of_words, "loss"), 1.25);
  EXPECT_DOUBLE_EQ(of_words[1].second, std::exp(1.25));
  EXPECT_EQ(text_of(words_sums, *make_objective(words(), 0)), "loss 1.2500 (perplexity 3.4903)");
  sums.add(0.5, {{"accuracy", 3}}, 4);
  EXPECT_EQ(text_of(sums, *make_objective({.task = Task::DigitSum}, 0)),
            "accuracy 75.00 % (loss 0.5000)");
  waves.add(0.00123, {{"mse", 4 * 0.00123}}, 4);
  EXPECT_EQ(text_of(waves, *make_objective({.task = Task::NextValue}, 0)), "mse 0.00123");
}

TEST(MetricAccumulator, WeighsByExamplesAndSurvivesStoring) {
  MetricAccumulator a;
  a.add(1.0, {{"accuracy", 3}}, 3);
  a.add(2.0, {{"accuracy", 0}}, 1);
  const auto b = MetricAccumulator::restored(a.sums(), a.names());
  EXPECT_DOUBLE_EQ(b.loss(), 1.25);
  const auto objective = make_objective({.task = Task::Classes}, 0);
  EXPECT_DOUBLE_EQ(metric_value(b.metrics(*objective), "accuracy"), 0.75);
  EXPECT_EQ(b.target_count(), 4);
  EXPECT_TRUE(test::contains(test::error_of([&] {
                               a.add(1.0, {{"accuracy", 1}, {"accuracy_top5", 1}}, 1);
                             }),
                             "1 of them were stored and 2 are measured now"));
}

TEST(RunOutcome, SurvivesStoringWithoutNumbersThatJsonLacks) {
  test::TemporaryFolder folder;
  const RunOutcome outcome{
      .stop_reason = StopReason::ReachedGoal,
      .selection_metric = {.name = "accuracy", .unit = "%", .higher_is_better = true},
      .validation = {{"loss", 0.25}, {"accuracy", 0.75}},
      .test = {{"loss", std::nan("")}, {"accuracy", 0.5}},
      .epochs = 3,
      .parameters = 7};
  write_run_outcome(folder / "result.json", outcome);
  const auto read = read_run_outcome(folder / "result.json");
  EXPECT_EQ(read.stop_reason, StopReason::ReachedGoal);
  EXPECT_EQ(read.validation, outcome.validation);
  EXPECT_DOUBLE_EQ(read.validation_value(), 0.75);
  EXPECT_DOUBLE_EQ(read.test_value(), 0.5);
  EXPECT_DOUBLE_EQ(read.validation_loss(), 0.25);
  EXPECT_TRUE(std::isnan(read.test_loss()));
  EXPECT_EQ(read.selection_metric.text(read.test_value()), "50.00 %");
  EXPECT_EQ(read.epochs, 3);
  const auto text = read_file(folder / "result.json");
  for (const auto* part :
       {"\"stop_reason\": \"reached_goal\"", "\"selection_metric\": \"accuracy\"",
        "\"higher_is_better\": true", "\"validation\": {", "\"test\": {"})
    EXPECT_TRUE(test::contains(text, part));
}

TEST(RunOutcome, WithAFlippedBitIsRefused) {
  test::TemporaryFolder folder;
  const auto file = folder / "result.json";
  write_run_outcome(file, {.selection_metric = {.name = "accuracy"},
                           .validation = {{"accuracy", 0.75}},
                           .test = {{"accuracy", 0.5}},
                           .epochs = 3});
  const auto written = read_file(file);
  const auto intact = read_run_outcome(file);
  for (size_t bit = 0; bit < 8 * written.size(); ++bit) {
    auto bytes = written;
    bytes[bit / 8] ^= static_cast<char>(1 << bit % 8);
    std::ofstream(file, std::ios::binary) << bytes;
    try {  // a bit of the layout or of the checksum's own name changes nothing that is read
      const auto read = read_run_outcome(file);
      EXPECT_EQ(read.test, intact.test) << bit;
      EXPECT_EQ(read.validation, intact.validation) << bit;
      EXPECT_EQ(read.epochs, intact.epochs) << bit;
    } catch (const Error&) {
    }
  }
  const auto at = written.find("0.75");
  write_file_atomically(file, written.substr(0, at) + "0.85" + written.substr(at + 4));
  EXPECT_TRUE(test::contains(test::error_of([&] { read_run_outcome(file); }), "is damaged"));
}

}  // namespace vitrine
