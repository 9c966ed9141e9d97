#include "vitrine/models/sparse_transformer.h"

#include <cmath>

#include "tests/support/errors.h"
#include "tests/support/shake.h"
#include "tests/support/steps.h"
#include "vitrine/inspect/summary.h"
#include "vitrine/models/registry.h"
#include "vitrine/train/objective.h"

namespace vitrine {
namespace {

SparseTransformerConfig small_config() {
  return {.rows = 4,
          .columns = 5,
          .layers = 2,
          .heads = 2,
          .dim = 16,
          .key_width = 8,
          .hidden = 24,
          .dropout = 0,
          .pattern = {.kind = PatternKind::Strided, .stride = 8, .summary_tokens = 3}};
}

/// The head starts at zero; here it should tell what comes in.
std::shared_ptr<SparseTransformer> shaken(const SparseTransformerConfig& config) {
  torch::manual_seed(1);
  auto model = std::make_shared<SparseTransformer>(config);
  test::shake(*model, 0.3);
  return model;
}

std::vector<SparseTransformerConfig> all_configs() {
  std::vector<SparseTransformerConfig> configs;
  for (const auto kind : {PatternKind::Dense, PatternKind::Local, PatternKind::Strided,
                          PatternKind::Fixed, PatternKind::Longformer})
    for (const auto& [name, assignment] : pattern_assignment_names())
      for (const auto& [order_name, order] : byte_order_names()) {
        configs.push_back(small_config());
        configs.back().pattern.kind = kind;
        configs.back().assignment = assignment;
        configs.back().order = order;
      }
  return configs;
}

}  // namespace

TEST(SparseTransformer, Has59MillionParametersOnCifar10) {
  const int64_t C = 256, K = 128, F = 512, L = 128;
  const int64_t attention = C * (2 * K + C) + (2 * K + C) + C * C + C;
  const int64_t feed_forward = C * F + F + F * C + C;
  const int64_t norms = 2 * 2 * C;
  const int64_t around = 256 * C + C + (32 + 32 + 3) * C + 2 * C + C * 256;
  const auto summary = summarize(ModelChoice("sparse_c10"));
  EXPECT_EQ(summary.parameters, L * (attention + feed_forward + norms) + around);
  EXPECT_EQ(summary.parameters, 59'196'928);
}

TEST(SparseTransformer, NoByteSeesItselfOrALaterOne) {
  for (const auto& config : all_configs()) {
    const auto model = shaken(config);
    const torch::NoGradGuard no_grad;
    const auto bytes = model->ordered(model->example_input(2));
    const int64_t changed_at = 31;
    auto changed = bytes.clone();
    changed.select(1, changed_at).copy_((bytes.select(1, changed_at) + 1) % kByteValues);
    const auto scores = [&](const torch::Tensor& b) {
      return model->ordered(model->forward(model->interleaved(b)));
    };
    const auto difference = (scores(bytes) - scores(changed)).abs().amax({0, 2});
    EXPECT_EQ(difference.slice(0, 0, changed_at + 1).max().item<double>(), 0);
    EXPECT_GT(difference[changed_at + 1].item<double>(), 0);
  }
}

TEST(SparseTransformer, StepsGiveTheLogitsOfTheForwardPass) {
  for (const auto& config : all_configs()) {
    torch::manual_seed(1);
    SparseTransformer model(config);
    test::shake(model, 0.1);
    EXPECT_LT(test::step_error(model), 1e-5);
  }
}

TEST(SparseTransformer, KeepsOnlyTheKeysThatThePatternStillNeeds) {
  auto config = small_config();
  config.pattern.kind = PatternKind::Local;
  const SparseTransformer local(config);
  const auto state = local.make_state(3);
  const int64_t kept_tokens = 8 + 1, widths = 8 + 16;
  EXPECT_EQ(state->cache_bytes(), 2 * 3 * kept_tokens * widths * int64_t{sizeof(float)});
}

TEST(SparseTransformer, StopsAtTheEndOfTheSequence) {
  const SparseTransformer model(small_config());
  const auto state = model.make_state(1);
  auto token = torch::Tensor();
  for (int64_t t = 0; t < 60; ++t) {
    EXPECT_EQ(state->position(), t);
    model.step(token, *state);
    token = torch::tensor({t});
  }
  EXPECT_TRUE(test::contains(test::error_of([&] { model.step(token, *state); }),
                             "a sequence has at most 60 tokens"));
  const auto other = model.make_state(2);
  model.step({}, *other);
  EXPECT_TRUE(test::contains(test::error_of([&] { model.step(token, *other); }),
                             "one token of each of the 2 sequences"));
}

TEST(SparseTransformer, StartsByFindingAllBytesEquallyLikely) {
  SparseTransformer model(small_config());
  const auto bytes = model.example_input(3);
  const auto objective = make_objective({.task = model.task()}, ObjectiveSettings(/*smoothing=*/0));
  const auto loss = objective->loss(model, {bytes, bytes}).loss.item<double>();
  EXPECT_NEAR(loss, std::log(256.0), 1e-5);
  EXPECT_NEAR(objective->derived_metrics(loss)[0].second, 8, 1e-5);
}

TEST(SparseTransformer, StartsWithThePapersSpreads) {
  torch::manual_seed(1);
  auto config = sparse_c10_tiny();
  SparseTransformer model(config);
  const double C = 64;
  const auto expect_std = [](const torch::Tensor& weight, double expected) {
    EXPECT_NEAR(weight.std().item<double>(), expected, 0.05 * expected);
  };
  const auto block = &model.blocks->at<SparseBlockImpl>(0);
  expect_std(model.embedding->weight, 0.125 / std::sqrt(C));
  expect_std(model.row_embed, 0.125 / std::sqrt(3 * C));
  expect_std(block->attn->qkv->weight, 0.125 / std::sqrt(C));
  expect_std(block->mlp->fc1->weight, 0.125 / std::sqrt(C));
  const double branch = 1 / std::sqrt(2.0 * 4);
  expect_std(block->attn->proj->weight, branch * 0.125 / std::sqrt(C));
  expect_std(block->mlp->fc2->weight, branch * 0.125 / std::sqrt(2 * C));
}

TEST(SparseTransformer, WavesMakeNeighboursAlikeAndADistanceTheSameEverywhere) {
  torch::manual_seed(1);
  auto config = sparse_c10_tiny();
  config.embedding_init = EmbeddingInit::Sinusoidal;
  const SparseTransformer model(config);
  for (const auto& table : {model.embedding->weight, model.row_embed, model.column_embed}) {
    const auto n = table.size(0);
    const auto unit = torch::nn::functional::normalize(table.detach());
    const auto alike = [&](int64_t distance) {
      return (unit.slice(0, 0, n - distance) * unit.slice(0, distance)).sum(1);
    };
    EXPECT_GT(alike(1).min().item<double>(), alike(n / 2).max().item<double>());
    // One turn takes every place to the next.
    const auto from = table.detach().slice(0, 0, n - 1), to = table.detach().slice(0, 1);
    const auto turn = std::get<0>(torch::linalg_lstsq(from, to, c10::nullopt, "gelsd"));
    EXPECT_LT((from.mm(turn) - to).abs().max().item<double>(), 1e-3);
  }
}

TEST(SparseTransformer, RecomputesTheSameGradients) {
  auto config = small_config();
  config.dropout = 0.25;
  const auto model = shaken(config);
  const auto bytes = model->example_input(2);
  const auto gradients = [&](bool recompute) {
    model->recompute_blocks = recompute;
    model->zero_grad();
    torch::manual_seed(5);
    make_objective({.task = model->task()}, 0)->loss(*model, {bytes, bytes}).loss.backward();
    std::vector<torch::Tensor> all;
    for (const auto& p : model->parameters()) all.push_back(p.grad().clone());
    return all;
  };
  const auto kept = gradients(false), again = gradients(true);
  for (size_t i = 0; i < kept.size(); ++i)
    EXPECT_TRUE(torch::allclose(kept[i], again[i], 1e-4, 1e-6)) << i;
}

TEST(SparseTransformer, KnowsWhereEachByteStandsInBothOrders) {
  auto config = small_config();
  const auto interleaved = shaken(config)->position_table();
  config.order = ByteOrder::Planar;
  const auto planar = shaken(config);
  EXPECT_TRUE(planar->interleaved(planar->position_table()).equal(interleaved));
  const auto bytes = planar->example_input(2);
  EXPECT_TRUE(planar->ordered(bytes).select(1, 1).equal(bytes.select(1, 3)));
  EXPECT_TRUE(planar->interleaved(planar->ordered(bytes)).equal(bytes));
}

TEST(SparseTransformer, HeadsOfAFixedPatternSummariseDistinctSubBlocks) {
  auto config = small_config();
  config.pattern.kind = PatternKind::Fixed;
  const SparseTransformer model(config);
  const auto& patterns = model.blocks->at<SparseBlockImpl>(0).attn->config.patterns;
  EXPECT_EQ(patterns[0].offset, 0);
  EXPECT_EQ(patterns[1].offset, 1);
}

TEST(SparseTransformer, HeadsCanHaveTheirOwnStrides) {
  auto config = small_config();
  config.head_strides = {5, 9};
  const auto model = shaken(config);
  const auto block = &model->blocks->at<SparseBlockImpl>(1);
  EXPECT_EQ(block->attn->config.patterns[0].stride, 5);
  EXPECT_EQ(block->attn->config.patterns[1].stride, 9);
  config.head_strides = {5, 0};
  EXPECT_TRUE(test::contains(test::error_of([&] { config.validate(); }), "stride"));
}

TEST(SparseTransformer, LayersTakeTheHalvesInTurn) {
  auto config = small_config();
  config.layers = 5;
  config.assignment = PatternAssignment::PerLayer;
  config.layer_period = 4;
  config.layer_phase = 0;
  SparseTransformer model(config);
  for (int64_t layer = 0; layer < 5; ++layer) {
    const auto block = &model.blocks->at<SparseBlockImpl>(layer);
    EXPECT_EQ(block->attn->config.patterns[0].factor,
              layer % 4 == 0 ? PatternFactor::Second : PatternFactor::First);
  }
}

TEST(SparseTransformer, RefusesWhatDoesNotFit) {
  const auto message_of = [](const std::function<void(SparseTransformerConfig&)>& change) {
    auto config = small_config();
    change(config);
    return test::error_of([&] { config.validate(); });
  };
  EXPECT_TRUE(test::contains(message_of([](auto& c) { c.heads = 3; }), "heads 3 do not divide"));
  EXPECT_TRUE(test::contains(message_of([](auto& c) { c.layers = 0; }), "must be positive"));
  EXPECT_TRUE(test::contains(message_of([](auto& c) { c.pattern.causal = false; }), "causal"));
  EXPECT_TRUE(test::contains(message_of([](auto& c) { c.pattern.stride = 0; }), "stride"));
  SparseTransformer model(small_config());
  EXPECT_TRUE(test::contains(test::error_of([&] {
                               model.forward(torch::zeros({2, 59}, torch::kLong));
                             }),
                             "2x59"));
}

}  // namespace vitrine
