// Blocks that generate token by token.
#include <gtest/gtest.h>

#include "tests/support/errors.h"
#include "tests/support/shake.h"
#include "vitrine/nn/attention_capture.h"
#include "vitrine/nn/encoder_block.h"
#include "vitrine/nn/kv_slot_plan.h"
#include "vitrine/nn/sparse_block.h"

namespace vitrine {
namespace {

constexpr double kTolerance = 1e-5;

/// The greatest difference between the block's steps and its forward pass over (2, tokens, dim).
double step_error(BlockImpl& block, int64_t tokens, int64_t dim) {
  test::shake(block, 0.1);
  block.eval();
  const torch::NoGradGuard no_grad;
  const auto x = torch::randn({2, tokens, dim});
  const auto cache = block.make_cache(2);
  std::vector<torch::Tensor> steps;
  for (const auto& token : x.unbind(1)) steps.push_back(block.step(token, *cache));
  EXPECT_GT(cache->bytes(), 0);
  return (torch::stack(steps, 1) - block.forward(x)).abs().max().item<double>();
}

/// 2 heads of dim 12.
EncoderBlockConfig causal_block() { return {.dim = 12, .heads = 2, .hidden = 20, .causal = true}; }

SparseBlockConfig sparse_block(const std::vector<AttentionPattern>& patterns, int64_t tokens) {
  return {.attention = {.dim = 12, .key_width = 8, .patterns = patterns, .tokens = tokens},
          .hidden = 20};
}

int64_t slots_of(const AttentionPattern& pattern, int64_t tokens) {
  return KvSlotPlan(pattern, tokens).slots();
}

}  // namespace

TEST(BlockStep, OfSoftmaxAttentionEqualsTheForwardPass) {
  torch::manual_seed(1);
  for (const auto norm : {NormPosition::Pre, NormPosition::Post})
    for (const int64_t relative : {0, 3, 9})
      for (const int64_t grid : {0, 10}) {  // unknown and known length
        auto config = causal_block();
        config.norm = norm;
        config.max_relative_distance = relative;
        config.grid = sequence_grid(grid);
        EncoderBlockImpl block(config);
        EXPECT_LT(step_error(block, 10, 12), kTolerance) << relative << " " << grid;
      }
}

TEST(BlockStep, GoesOnWhereTheLengthWasNotKnown) {
  torch::manual_seed(1);
  EncoderBlockImpl block(causal_block());
  EXPECT_LT(step_error(block, 150, 12), kTolerance);
}

TEST(BlockStep, OfPerformerAttentionEqualsTheForwardPass) {
  torch::manual_seed(1);
  auto config = causal_block();
  config.attention = {.kind = AttentionKind::Performer, .features = 16};
  EncoderBlockImpl block(config);
  EXPECT_LT(step_error(block, 150, 12), kTolerance);
}

TEST(BlockStep, OfPackedSparseBlocksEqualsTheForwardPassOfTheWeightsAsTheyWere) {
  torch::manual_seed(1);
  const torch::NoGradGuard no_grad;
  const AttentionPattern strided{.kind = PatternKind::Strided, .stride = 7};
  const AttentionPattern nothing{.kind = PatternKind::Fixed,
                                 .stride = 7,
                                 .summary_tokens = 2,
                                 .factor = PatternFactor::Second};
  for (const auto& patterns : {std::vector{strided, strided}, std::vector{strided, nothing}})
    for (const int64_t dim : {12, 160}) {
      SparseBlockImpl block(
          {.attention = {.dim = dim, .key_width = dim / 2, .patterns = patterns, .tokens = 40},
           .hidden = 20});
      test::shake(block, 0.1);
      block.eval();
      const auto x = torch::randn({17, 40, dim});
      const auto whole = block.forward(x);
      for (const auto& layer : block.modules(/*include_self=*/false))
        if (auto* linear = layer->as<Linear>()) linear->pack(Precision::Float32);
      const auto cache = block.make_cache(17), alone_cache = block.make_cache(1);
      for (int64_t t = 0; t < 40; ++t) {
        const auto token = x.select(1, t);
        const auto step = block.step(token, *cache);
        EXPECT_LT((step - whole.select(1, t)).abs().max().item<double>(), kTolerance) << t;
        const auto alone = block.step(token.narrow(0, 3, 1), *alone_cache);
        EXPECT_TRUE(alone.equal(step.narrow(0, 3, 1))) << t;  // whatever the batch
      }
      EXPECT_THROW(block.step(x.select(1, 0), *cache), Error);
    }
}

TEST(BlockStep, OfSparseAttentionEqualsTheForwardPass) {
  torch::manual_seed(1);
  const AttentionPattern local{.kind = PatternKind::Local, .stride = 5};
  for (const auto kind : {PatternKind::Dense, PatternKind::Local, PatternKind::Strided,
                          PatternKind::Fixed, PatternKind::Longformer})
    for (const auto factor : {PatternFactor::Both, PatternFactor::First, PatternFactor::Second}) {
      const AttentionPattern pattern{
          .kind = kind, .stride = 7, .summary_tokens = 2, .factor = factor};
      SparseBlockImpl alike(sparse_block({pattern, pattern}, 40));
      EXPECT_LT(step_error(alike, 40, 12), kTolerance);
      SparseBlockImpl mixed(sparse_block({local, pattern}, 40));
      EXPECT_LT(step_error(mixed, 40, 12), kTolerance);
    }
}

TEST(BlockStep, RecordsWhatTheNextTokenAttendsTo) {
  torch::manual_seed(1);
  EncoderBlockImpl block(causal_block());
  block.eval();
  const auto cache = block.make_cache(2);
  const torch::NoGradGuard no_grad;
  AttentionCapture capture;
  for (int64_t t = 0; t < 3; ++t) block.step(torch::randn({2, 12}), *cache);
  EXPECT_EQ(capture.layers.at(2).weights.sizes(), (std::vector<int64_t>{2, 2, 1, 3}));
  EXPECT_EQ(capture.layers.at(2).keys, sequence_grid(3));
}

TEST(BlockStep, IsRefusedWhereATokenSeesLaterOnes) {
  const auto message_of = [](const BlockImpl& block) {
    return test::error_of([&] { block.make_cache(1); });
  };
  EncoderBlockConfig config{.dim = 12, .heads = 2, .hidden = 20};
  EXPECT_TRUE(test::contains(message_of(EncoderBlockImpl(config)), "attend to later ones"));
  config.attention.kind = AttentionKind::Performer;
  EXPECT_TRUE(test::contains(message_of(EncoderBlockImpl(config)), "attend to later ones"));
  config.attention = {.kind = AttentionKind::Linformer, .length = 4};
  config.grid = sequence_grid(8);
  EXPECT_TRUE(test::contains(message_of(EncoderBlockImpl(config)),
                             "choose attention.kind softmax or performer"));
  const AttentionPattern bidirectional{.kind = PatternKind::Local, .causal = false};
  EXPECT_TRUE(test::contains(message_of(SparseBlockImpl(sparse_block({bidirectional}, 8))),
                             "is not causal"));
  EXPECT_TRUE(test::contains(message_of(SparseBlockImpl(sparse_block({{}}, 0))),
                             "the number of tokens must be known, got 0"));
}

TEST(KvSlotPlan, KeepsOnlyTheKeysThatThePatternStillNeeds) {
  EXPECT_EQ(slots_of({.kind = PatternKind::Dense}, 100), 100);
  EXPECT_EQ(slots_of({.kind = PatternKind::Local, .stride = 10}, 100), 11);
  EXPECT_EQ(slots_of({.kind = PatternKind::Fixed, .stride = 10, .summary_tokens = 2}, 100),
            2 * 9 + 10);
}

TEST(KvSlotPlan, IsSharedByLayersOfTheSamePattern) {
  const AttentionPattern pattern{.kind = PatternKind::Strided, .stride = 7};
  const auto plan = kv_slot_plan(pattern, 40);
  EXPECT_EQ(plan, kv_slot_plan(pattern, 40));
  EXPECT_NE(plan, kv_slot_plan(pattern, 41));
  EXPECT_NE(plan, kv_slot_plan({.kind = PatternKind::Local, .stride = 7}, 40));
}

}  // namespace vitrine
