// Schedules, optimizers and metrics.jsonl on their own.
#include <torch/torch.h>

#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"
#include "vitrine/models/vit.h"
#include "vitrine/ops/orthogonal.h"
#include "vitrine/train/metrics.h"
#include "vitrine/train/optimizer.h"
#include "vitrine/train/schedule.h"

namespace vitrine {

TEST(Schedule, WarmUpRisesLinearlyThenCosineFalls) {
  const ScheduleConfig c{.kind = ScheduleKind::Cosine, .warmup_epochs = 2, .final_lr_ratio = 0.1};
  const auto at = [&](int64_t step) { return schedule_factor(c, step, 100, 10); };
  EXPECT_DOUBLE_EQ(at(0), 0.05);
  EXPECT_DOUBLE_EQ(at(9), 0.5);
  EXPECT_DOUBLE_EQ(at(20), 1);
  EXPECT_DOUBLE_EQ(at(60), 0.55);
  EXPECT_DOUBLE_EQ(at(100), 0.1);
}

TEST(Schedule, StepDropsAndConstantStays) {
  const ScheduleConfig step{.kind = ScheduleKind::Step, .step_epochs = 3, .step_factor = 0.5};
  EXPECT_DOUBLE_EQ(schedule_factor(step, 29, 100, 10), 1);
  EXPECT_DOUBLE_EQ(schedule_factor(step, 30, 100, 10), 0.5);
  EXPECT_DOUBLE_EQ(schedule_factor(step, 60, 100, 10), 0.25);
  EXPECT_DOUBLE_EQ(schedule_factor({.kind = ScheduleKind::Constant}, 77, 100, 10), 1);
}

TEST(Schedule, OneCycleRisesThenFallsAlongHalfCosines) {
  const ScheduleConfig c{.kind = ScheduleKind::OneCycle, .rise = 0.3, .start_lr_ratio = 0.04};
  const auto at = [&](int64_t step) { return schedule_factor(c, step, 100, 10); };
  EXPECT_NEAR(at(0), 0.04, 1e-12);
  EXPECT_NEAR(at(15), 0.52, 1e-12);
  EXPECT_NEAR(at(30), 1, 1e-12);
  EXPECT_NEAR(at(65), 0.5, 1e-12);
  EXPECT_NEAR(at(100), 0, 1e-12);
}

TEST(Schedule, OverABudgetFollowsTheSeconds) {
  const ScheduleConfig c{.kind = ScheduleKind::OneCycle, .over = ScheduleSpan::Budget, .rise = 0.2};
  EXPECT_NEAR(budget_schedule_factor(c, 0, 600), 0.04, 1e-12);
  EXPECT_NEAR(budget_schedule_factor(c, 120, 600), 1, 1e-12);
  EXPECT_NEAR(budget_schedule_factor(c, 360, 600), 0.5, 1e-12);
  EXPECT_NEAR(budget_schedule_factor(c, 601, 600), 0, 1e-12);
}

TEST(Schedule, OverABudgetKnowsNoEpochs) {
  ScheduleConfig c{.kind = ScheduleKind::Cosine, .over = ScheduleSpan::Budget};
  EXPECT_NO_THROW(c.validate());
  c.warmup_epochs = 1;
  EXPECT_TRUE(test::contains(test::error_of([&] { c.validate(); }), "no warmup_epochs"));
  c = {.kind = ScheduleKind::Step, .over = ScheduleSpan::Budget};
  EXPECT_TRUE(test::contains(test::error_of([&] { c.validate(); }), "take one_cycle"));
}

namespace {

/// Five steps of ours and torch's on the same problem; the parameters must agree.
template <typename TorchOptimizer, typename Options>
void expect_same_as_torch(const OptimizerConfig& config, const Options& options) {
  torch::manual_seed(1);
  auto ours = torch::randn({5, 7}).requires_grad_(true);
  auto theirs = ours.detach().clone().requires_grad_(true);
  const auto target = torch::randn({5, 7});
  Optimizer optimizer(config, {{.name = "w", .tensor = ours, .decay = true}});
  TorchOptimizer reference({theirs}, options);
  for (int i = 0; i < 5; ++i) {
    (ours - target).pow(4).sum().backward();
    optimizer.step(config.lr, 1);
    optimizer.zero_gradients();
    reference.zero_grad();
    (theirs - target).pow(4).sum().backward();
    reference.step();
  }
  EXPECT_LT((ours - theirs).abs().max().item<double>(), 1e-5);
}

}  // namespace

TEST(Optimizer, EqualsTorchs) {
  expect_same_as_torch<torch::optim::AdamW>(
      {.kind = optimizers::adamw, .lr = 0.1, .weight_decay = 0.3},
      torch::optim::AdamWOptions(0.1).weight_decay(0.3));
  expect_same_as_torch<torch::optim::Adam>(
      {.kind = optimizers::adam, .lr = 0.1, .weight_decay = 0.3},
      torch::optim::AdamOptions(0.1).weight_decay(0.3));
  expect_same_as_torch<torch::optim::SGD>(
      {.kind = optimizers::sgd, .lr = 1e-3, .weight_decay = 0.3, .momentum = 0.8},
      torch::optim::SGDOptions(1e-3).weight_decay(0.3).momentum(0.8));
}

TEST(Optimizer, MuonTakesOrthogonalStepsInBlocksAndAdamWsElsewhere) {
  torch::manual_seed(1);
  const double lr = 0.01, matrix_lr = 0.1, decay = 0.5, momentum = 0.9;
  const auto random = [](at::IntArrayRef shape) {
    return torch::randn(shape).requires_grad_(true);
  };
  auto inside = random({12, 4}), outside = random({12, 4}), bias = random({12});
  auto qkv = random({8, 4});  // queries and keys of width 2
  const auto before = inside.detach().clone();
  const auto qkv_before = qkv.detach().clone();
  auto same = outside.detach().clone().requires_grad_(true);
  Optimizer muon(
      {.kind = optimizers::muon,
       .lr = lr,
       .weight_decay = decay,
       .momentum = momentum,
       .matrix_lr = matrix_lr},
      {{.name = "fc1", .tensor = inside, .decay = true, .matrix = true},
       {.name = "qkv", .tensor = qkv, .decay = true, .matrix = true, .stacked = {2, 2, 4}},
       {.name = "head", .tensor = outside, .decay = true},
       {.name = "bias", .tensor = bias}});
  Optimizer adamw({.lr = lr, .weight_decay = decay},
                  {{.name = "head", .tensor = same, .decay = true}});
  EXPECT_EQ(muon.state().size(), 1 + 1 + 2 + 2);  // moments
  auto expected = before.clone(), expected_qkv = qkv_before.clone(),
       velocity = torch::zeros_like(before);
  for (int i = 0; i < 3; ++i) {
    const auto gradient = torch::randn({12, 4});
    for (auto* p : {&inside, &outside, &same}) p->mutable_grad() = gradient.clone();
    qkv.mutable_grad() = gradient.narrow(0, 0, 8).clone();
    bias.mutable_grad() = torch::randn(12);
    muon.step(lr / 2, 1);  // the schedule stands at a half
    adamw.step(lr / 2, 1);
    velocity = velocity * momentum + gradient;
    const auto ahead = gradient + momentum * velocity;
    const auto moved = [&](const torch::Tensor& from, const torch::Tensor& direction) {
      return from * (1 - matrix_lr / 2 * decay) - matrix_lr / 2 * direction;
    };
    expected = moved(expected, newton_schulz_orthogonalize(ahead) * std::sqrt(3.0));
    std::vector<torch::Tensor> parts;
    for (const auto& part : ahead.narrow(0, 0, 8).split_with_sizes({2, 2, 4}))
      parts.push_back(newton_schulz_orthogonalize(part));
    expected_qkv = moved(expected_qkv, torch::cat(parts));
  }
  EXPECT_TRUE(torch::allclose(inside, expected, 1e-5, 1e-6));
  EXPECT_TRUE(torch::allclose(qkv, expected_qkv, 1e-5, 1e-6));
  EXPECT_TRUE(torch::equal(outside, same));
}

TEST(Optimizer, MuonRefusesModelsWithoutBlocks) {
  const std::vector<ParameterInfo> parameters = {
      {.name = "conv", .tensor = torch::ones({2, 2}).requires_grad_(true), .decay = true}};
  EXPECT_TRUE(test::contains(
      test::error_of([&] { Optimizer({.kind = optimizers::muon}, parameters); }), "adamw"));
}

TEST(Optimizer, MuonTakesReformersTwoMatricesOneByOne) {
  torch::manual_seed(1);
  Vit model({.image = 8,
             .patch = 4,
             .classes = 3,
             .dim = 8,
             .depth = 1,
             .heads = 2,
             .hidden = 8,
             .attention = {.kind = AttentionKind::Reformer, .bucket = 2, .rounds = 1}});
  auto& qkv = model.blocks->at<EncoderBlockImpl>(0).attn->qkv->weight;  // (2 C, C)
  ASSERT_EQ(qkv.sizes(), (std::vector<int64_t>{16, 8}));
  const auto before = qkv.detach().clone(), gradient = torch::randn({16, 8});
  Optimizer muon({.kind = optimizers::muon, .weight_decay = 0, .momentum = 0, .matrix_lr = 0.1},
                 model.parameter_info());
  qkv.mutable_grad() = gradient.clone();
  muon.step(1e-3, 1);
  for (const int64_t first : {0, 8}) {
    const auto moved = (qkv - before).narrow(0, first, 8);
    const auto expected = -0.1 * newton_schulz_orthogonalize(gradient.narrow(0, first, 8));
    EXPECT_TRUE(torch::allclose(moved, expected, 1e-4, 1e-5));
  }
}

TEST(Optimizer, DecaysOnlyWhatIsToBeDecayed) {
  for (const auto& [name, rule] : optimizer_rules()) {
    if (rule == optimizers::muon) continue;  // it wants blocks
    std::vector<ParameterInfo> parameters = {{.name = "weight", .decay = true}, {.name = "bias"}};
    for (auto& p : parameters) {
      p.tensor = torch::ones({2, 2}).requires_grad_(true);
      p.tensor.mutable_grad() = torch::zeros({2, 2});
    }
    Optimizer optimizer({.kind = rule, .lr = 0.1, .weight_decay = 0.5}, parameters);
    optimizer.step(0.1, 1);
    EXPECT_LT(parameters[0].tensor.max().item<double>(), 1) << name;
    EXPECT_TRUE(parameters[1].tensor.equal(torch::ones({2, 2}))) << name;
  }
}

TEST(RecipeName, HasNoControlCharacters) {
  Recipe recipe;
  recipe.name = std::string("a\0b", 3);
  EXPECT_TRUE(test::contains(test::error_of([&] { recipe.validate(); }), "name 'a b' must be"));
}

TEST(Metrics, OfAnotherProgramDoNotStopTheReader) {
  const test::TemporaryFolder folder;
  const auto path = folder / "metrics.jsonl";
  write_file_atomically(
      path, "{\"kind\": 3}\n{\"kind\": \"step\", \"epoch\": \"one\", \"loss\": 0.5}\n[1]\n");
  const auto lines = read_metrics(path);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0].epoch, 0);
  EXPECT_EQ(lines[0].values, (Metrics{{"loss", 0.5}}));
}

TEST(Metrics, SumsThatFitNoMetricsAreRefused) {
  EXPECT_THROW(MetricAccumulator::restored({}, {}), Error);
  EXPECT_THROW(MetricAccumulator::restored({1, 2}, {"accuracy"}), Error);
}

TEST(MetricsFile, IsReadWithFewerStepsIfTheyAreMany) {
  test::TemporaryFolder folder;
  const auto path = folder.path() / "metrics.jsonl";
  MetricsFile file(path, 0);
  constexpr int64_t kSteps = 100;
  for (int64_t step = 0; step < kSteps; ++step) {
    file.add({"step", 1, step, 0, {{"loss", 1}}});
    if (step % 10 == 9) file.add({"epoch", step / 10, step, 0, {{"validation_loss", 2}}});
  }
  std::vector<int64_t> steps;
  int64_t epochs = 0;
  for (const auto& line : read_metrics(path, /*steps=*/10))
    if (line.kind == "step")
      steps.push_back(line.step);
    else
      ++epochs;
  EXPECT_EQ(steps, (std::vector<int64_t>{0, 8, 16, 24, 32, 40, 48, 56, 64, 72, 80, 88, 96}));
  EXPECT_EQ(epochs, 10);
  EXPECT_EQ(read_metrics(path).size(), kSteps + 10);
}

TEST(MetricsFile, GoesOnBehindWhatIsKeptAndSkipAnIncompleteLine) {
  test::TemporaryFolder folder;
  const auto path = folder / "metrics.jsonl";
  MetricsFile file(path, 0);
  file.add({"step", 1, 20, 1.5e9, {{"loss", 2.5}}});
  const auto kept = file.bytes();
  file.add({"step", 1, 40, 1.5e9, {{"loss", 2.0}}});
  MetricsFile resumed(path, kept);
  resumed.add({"step", 1, 40, 1.5e9, {{"loss", 1.5}}});
  write_file_atomically(path, read_file(path) + "{\"kind\":\"st");
  const auto lines = read_metrics(path);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[1].step, 40);
  EXPECT_DOUBLE_EQ(lines[1].value("loss"), 1.5);
  EXPECT_TRUE(std::isnan(lines[1].value("none")));
}

}  // namespace vitrine
