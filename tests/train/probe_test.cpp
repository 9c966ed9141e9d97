// A linear classifier on frozen features: its optimum, the cache of the features, the whole probe.
#include "vitrine/train/probe.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <nlohmann/json.hpp>

#include "tests/support/command.h"
#include "tests/support/errors.h"
#include "tests/support/small_checkpoint.h"
#include "tests/support/training.h"

namespace vitrine {
namespace {

class Probing : public testing::Test {
 protected:
  Probing() { test::save_small_checkpoint(model_, "vit_c10_small", test::kSmallVit); }

  test::Outcome probe(const std::vector<std::string>& more, const std::string& run) {
    std::vector<std::string> line = {
        "probe",
        "-m",
        model_.string(),
        "--data",
        "{name: synthetic, train: 200, test: 64, image: 16, classes: 3}",
        "data.batch=32",
        "data.validation=0.2",
        "--threads",
        "2",
        "--cache",
        (folder_ / "cache").string(),
        "--run",
        (folder_ / run).string()};
    line.insert(line.end(), more.begin(), more.end());
    return test::run_command(line);
  }

  test::TemporaryFolder folder_;
  fs::path model_ = folder_ / "model.safetensors";
};

nlohmann::json test_metrics(const fs::path& run) {
  return nlohmann::json::parse(read_file(run / "result.json")).at("test");
}

}  // namespace

TEST(LinearProbe, EndsWhereTheGradientOfTheObjectiveIsZero) {
  torch::manual_seed(1);
  const auto x = torch::randn({300, 5}, torch::kDouble);
  const auto y =
      (x.matmul(torch::randn({5, 3}, torch::kDouble)) + torch::randn({300, 3}, torch::kDouble))
          .argmax(1);
  const double decay = 0.01;
  const auto zero =
      LinearClassifier{torch::zeros({3, 5}, torch::kDouble), torch::zeros({3}, torch::kDouble)};
  const auto found = fit_linear(x, y, decay, zero);
  // d/dW of mean cross-entropy is (p - onehot)^T x / B. The loss is a float, so it ends near 0.
  const auto p = torch::softmax(x.matmul(found.weight.t()) + found.bias, 1);
  const auto error = (p - torch::one_hot(y, 3)) / 300;
  EXPECT_LT((error.t().matmul(x) + decay * found.weight).abs().max().item<double>(), 1e-4);
  EXPECT_LT(error.sum(0).abs().max().item<double>(), 1e-4);
  // Stronger decay, smaller weights; another start, the same optimum.
  const auto strong = fit_linear(x, y, 1, zero);
  EXPECT_LT(strong.weight.norm().item<double>(), found.weight.norm().item<double>() / 2);
  EXPECT_TRUE(torch::allclose(fit_linear(x, y, decay, strong).weight, found.weight, 1e-3, 1e-3));
}

TEST_F(Probing, LeavesANetworkWhoseEvaluationIsTheProbes) {
  const auto outcome = probe({}, "run");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(test::contains(outcome.err, "new head of zeros"));
  EXPECT_TRUE(test::contains(outcome.err, "features of 160 train images: computed in"));
  EXPECT_TRUE(test::contains(outcome.err, "weight decay 1e-06"));
  const auto found = test_metrics(folder_ / "run");
  EXPECT_GT(found.at("accuracy").get<double>(), 0.7);  // random features tell stripes apart
  const auto scored = test::run_command({"eval", (folder_ / "run").string(), "--json"});
  ASSERT_EQ(scored.code, 0) << scored.err;
  const auto again = nlohmann::json::parse(scored.out);
  EXPECT_NEAR(again.at("accuracy").get<double>(), found.at("accuracy").get<double>(), 1e-9);
  EXPECT_NEAR(again.at("loss").get<double>(), found.at("loss").get<double>(), 1e-4);
  // All but the head is as it was.
  const auto before = load_safetensors(model_),
             after = load_safetensors(folder_ / "run/checkpoints/best.safetensors");
  for (const auto& [name, weight] : after.tensors)
    EXPECT_EQ(before.find(name)->equal(weight), !name.starts_with("head.")) << name;
}

TEST_F(Probing, ADistilledNetworkTakesTheClassifierInItsTwoHeads) {
  test::save_small_checkpoint(model_, "deit_ti16_distilled", test::kSmallVit);
  const auto outcome = probe({}, "run");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto scored = test::run_command({"eval", (folder_ / "run").string(), "--json"});
  ASSERT_EQ(scored.code, 0) << scored.err;
  EXPECT_NEAR(nlohmann::json::parse(scored.out).at("loss").get<double>(),
              test_metrics(folder_ / "run").at("loss").get<double>(), 1e-4);
}

TEST_F(Probing, FeaturesAreComputedOncePerWeightsAndPreprocessing) {
  ASSERT_EQ(probe({}, "one").code, 0);
  const auto again = probe({}, "two");
  EXPECT_TRUE(test::contains(again.err, "features of 160 train images: from the cache"));
  EXPECT_TRUE(test::contains(again.err, "features of 64 test images: from the cache"));
  EXPECT_EQ(test_metrics(folder_ / "one"), test_metrics(folder_ / "two"));
  EXPECT_TRUE(test::contains(probe({"data.preprocess.mean=[0.3, 0.3, 0.3]"}, "mean").err,
                             "160 train images: computed"));
  EXPECT_TRUE(test::contains(probe({"--image", "24"}, "larger").err, "160 train images: computed"));
  auto file = load_safetensors(model_);  // other weights under the same name
  for (auto& [name, weight] : file.tensors)
    if (name == "cls_token") weight = weight + 1;
  save_safetensors(model_, file);
  EXPECT_TRUE(test::contains(probe({}, "other").err, "160 train images: computed"));
}

TEST_F(Probing, RefusesWhatHasNoEffect) {
  const auto outcome = probe({"train.epochs=3"}, "run");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_TRUE(test::contains(outcome.err, "train.epochs has no effect on a probe"));
  EXPECT_EQ(probe({"data.augment.flip=0.5"}, "run").code, 2);
  EXPECT_FALSE(fs::exists(folder_ / "run"));
}

}  // namespace vitrine
