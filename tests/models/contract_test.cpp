// What every registered model promises: features, head, blocks and parameters.
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <map>

#include "tests/support/errors.h"
#include "tests/support/shake.h"
#include "tests/support/small_model.h"
#include "tests/support/temporary_folder.h"
#include "vitrine/models/cct.h"
#include "vitrine/models/model.h"
#include "vitrine/models/vit.h"
#include "vitrine/nn/attention_capture.h"
#include "vitrine/weights/checkpoint.h"

namespace vitrine {
namespace {

using test::small;

class Contract : public testing::TestWithParam<std::string> {};

/// Predicts tokens, and classifies images once it has a head for classes.
bool becomes_classifier(const std::string& name) { return name.starts_with("igpt_"); }

bool has_replaceable_head(const std::string& name) {
  return (small(name).build()->image_shape().has_value() && name != "vit_c10_302m") ||
         becomes_classifier(name);
}

/// The rule by names that holds for the models of this registry.
bool decayed_by_name(const std::string& name, const torch::Tensor& t) {
  const auto kind = name.substr(0, name.find_last_not_of("1234") + 1);  // "pos_embed" of stage 1
  return t.dim() >= 2 && !kind.ends_with("_embed") && !kind.ends_with("_token") &&
         !kind.ends_with("_bias") && !kind.ends_with("_pos") && !kind.ends_with("_table") &&
         !kind.ends_with("_scale");
}

/// How many matrices a weight stacks; 0: it is one.
size_t stacked_by_name(const std::string& name) {
  if (name.ends_with("qkv.weight") || name.ends_with("kqv.weight")) return 3;
  return name.ends_with(".kv.weight") || name.ends_with(".qk.weight") ? 2 : 0;
}

/// The number, from 1, of the block in which each parameter is.
std::map<const void*, int64_t> block_numbers(const Model& model) {
  std::map<const void*, int64_t> numbers;
  int64_t number = 0;
  for (const auto& block : model.blocks_in_order()) {
    ++number;
    for (const auto& p : block->parameters()) numbers[p.unsafeGetTensorImpl()] = number;
  }
  return numbers;
}

}  // namespace

TEST_P(Contract, TheHeadMakesTheAnswerOfTheFeatures) {
  torch::manual_seed(1);
  const auto model = small(GetParam()).build();
  test::shake(*model, 0.02);
  model->eval();
  const auto x = model->example_input(3);
  const auto features = model->features(x);
  EXPECT_EQ(features.size(0), 3);
  EXPECT_EQ(features.dim(), model->forward(x).dim() == 3 ? 3 : 2);
  EXPECT_TRUE(torch::allclose(model->logits(features), model->forward(x), 1e-5, 1e-6));
}

TEST_P(Contract, TheAnswerIsTheMeanOfAllHeads) {
  torch::manual_seed(1);
  const auto model = small(GetParam()).build();
  test::shake(*model, 0.02);
  model->eval();
  const auto x = model->example_input(2);
  const auto heads = model->logits_by_head(model->features(x));
  EXPECT_EQ(heads.size(), GetParam().find("distilled") == std::string::npos ? 1U : 2U);
  EXPECT_TRUE(torch::allclose(torch::stack(heads).mean(0), model->forward(x), 1e-5, 1e-6));
  if (heads.size() > 1) {
    EXPECT_FALSE(torch::allclose(heads[0], heads[1]));
  }
}

TEST_P(Contract, ANewHeadStartsAtZeroAndLearns) {
  torch::manual_seed(1);
  const auto model = small(GetParam()).build();
  if (!has_replaceable_head(GetParam())) {
    EXPECT_TRUE(test::contains(test::error_of([&] { model->reset_head(7); }), "reset_head: "));
    return;
  }
  const auto before = model->named_parameters().size();
  model->reset_head(7);
  EXPECT_EQ(model->image_shape()->classes, 7);
  EXPECT_EQ(model->named_parameters().size(), before + (becomes_classifier(GetParam()) ? 1 : 0));
  const auto y = model->forward(model->example_input(3));
  EXPECT_TRUE(y.equal(torch::zeros({3, 7})));
  y.select(1, 0).sum().backward();
  size_t in_head = 0;
  for (const auto& info : model->parameter_info()) {
    if (info.tensor.size(0) != 7) continue;
    ++in_head;
    ASSERT_TRUE(info.tensor.grad().defined()) << info.name;
    EXPECT_GT(info.tensor.grad().abs().sum().item<double>(), 0) << info.name;
  }
  const auto heads = model->logits_by_head(model->features(model->example_input(1))).size();
  EXPECT_EQ(in_head, 2 * heads);  // weight and bias
  EXPECT_TRUE(test::contains(test::error_of([&] { model->reset_head(0); }), "classes 0"));
}

TEST_P(Contract, ACheckpointWithANewHeadLoadsAgain) {
  if (!has_replaceable_head(GetParam())) return;
  const test::TemporaryFolder folder;
  auto choice = small(GetParam());
  const auto model = choice.build();
  model->reset_head(7);
  test::shake(*model, 0.1);
  model->eval();
  Settings::from_text("classes: 7", "test").read_into(choice);
  const auto path = folder / "m.safetensors";
  save_checkpoint(path, *model, {.model = choice, .preprocess = Preprocess{}});
  const auto x = model->example_input(2);
  EXPECT_TRUE(load_checkpoint(path).model->forward(x).equal(model->forward(x)));
}

TEST_P(Contract, ParametersAreDecayedAndOrthogonalisedAsEver) {
  const auto model = small(GetParam()).build();
  const auto named = model->named_parameters();
  const auto in_block = block_numbers(*model);
  const auto infos = model->parameter_info();
  ASSERT_EQ(infos.size(), named.size());
  for (size_t i = 0; i < infos.size(); ++i) {
    const auto& info = infos[i];
    EXPECT_EQ(info.name, named[i].key());
    EXPECT_TRUE(info.tensor.is_same(named[i].value())) << info.name;
    EXPECT_EQ(info.decay, decayed_by_name(info.name, info.tensor)) << info.name;
    const bool matrix = in_block.contains(info.tensor.unsafeGetTensorImpl()) &&
                        info.name.ends_with(".weight") && info.tensor.dim() == 2;
    EXPECT_EQ(info.matrix, matrix) << info.name;
    EXPECT_EQ(info.stacked.size(), matrix ? stacked_by_name(info.name) : 0) << info.name;
  }
}

TEST_P(Contract, DepthFollowsTheBlocks) {
  const auto model = small(GetParam()).build();
  const auto blocks = std::ssize(model->blocks_in_order());
  EXPECT_TRUE(blocks > 0 || !model->named_children().contains("blocks"));
  const auto in_block = block_numbers(*model);
  int64_t passed = 0;  // what stands between two blocks counts as the one before
  for (const auto& info : model->parameter_info()) {
    const auto found = in_block.find(info.tensor.unsafeGetTensorImpl());
    const bool inside = found != in_block.end();
    if (inside) passed = found->second;
    const bool behind_all = !inside && blocks > 0 && passed == blocks;
    const auto expected = behind_all ? blocks + 1 : passed;
    EXPECT_EQ(info.depth, expected) << info.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Registry, Contract, testing::ValuesIn(models().names()),
                         [](const auto& info) { return info.param; });

TEST(Vit, HasTheNamesAndShapesOfTimms) {
  using Shape = std::vector<int64_t>;
  std::map<std::string, Shape> expected = {{"cls_token", {1, 1, 192}},
                                           {"pos_embed", {1, 197, 192}},
                                           {"patch_embed.proj.weight", {192, 3, 16, 16}},
                                           {"patch_embed.proj.bias", {192}},
                                           {"norm.weight", {192}},
                                           {"norm.bias", {192}},
                                           {"head.weight", {1000, 192}},
                                           {"head.bias", {1000}}};
  for (int i = 0; i < 12; ++i)
    for (const auto& [name, shape] : std::map<std::string, Shape>{{"norm1.weight", {192}},
                                                                  {"norm1.bias", {192}},
                                                                  {"attn.qkv.weight", {576, 192}},
                                                                  {"attn.qkv.bias", {576}},
                                                                  {"attn.proj.weight", {192, 192}},
                                                                  {"attn.proj.bias", {192}},
                                                                  {"norm2.weight", {192}},
                                                                  {"norm2.bias", {192}},
                                                                  {"mlp.fc1.weight", {768, 192}},
                                                                  {"mlp.fc1.bias", {768}},
                                                                  {"mlp.fc2.weight", {192, 768}},
                                                                  {"mlp.fc2.bias", {192}}})
      expected["blocks." + std::to_string(i) + "." + name] = shape;
  std::map<std::string, Shape> ours;
  for (const auto& [name, tensor] : named_weights(Vit(vit_ti16())))
    ours[name] = tensor.sizes().vec();
  EXPECT_EQ(ours, expected);
}

TEST(Vit, RefusesToReplaceAHeadThatNormalises) {
  const auto model = small("vit_c10_302m").build();
  EXPECT_TRUE(test::contains(test::error_of([&] { model->reset_head(3); }),
                             "build the model with head linear"));
}

TEST_P(Contract, ImageTokensLieOnTheGridThatAttentionSees) {
  const auto model = small(GetParam()).build();
  const auto tokens = model->image_tokens();
  if (!tokens) return;
  model->eval();
  const torch::NoGradGuard no_grad;
  AttentionCapture capture;
  model->forward(model->example_input(1));
  ASSERT_FALSE(capture.layers.empty());
  EXPECT_EQ(capture.layers.front().queries.rows, tokens->rows);
  EXPECT_EQ(capture.layers.front().queries.columns, tokens->columns);
}

TEST(Vit, TellsThatItsPatchesDoNotOverlap) {
  const auto tokens =
      Vit({.image = 32, .patch = 4, .dim = 12, .depth = 1, .heads = 1}).image_tokens();
  ASSERT_TRUE(tokens.has_value());
  EXPECT_EQ(tokens->rows, 8);
  EXPECT_EQ(tokens->field, 4);
  EXPECT_FALSE(tokens->overlap());
}

TEST(Cct, TellsWhichPixelsATokenSees) {
  for (const auto& [convolutions, kernel, stride] :
       std::vector<std::tuple<int64_t, int64_t, int64_t>>{{1, 3, 1}, {2, 3, 1}, {1, 7, 2}}) {
    torch::manual_seed(1);
    const CctConfig config{
        .image = 64, .convolutions = convolutions, .kernel = kernel, .stride = stride, .dim = 8};
    ConvTokenizer tokenizer(config);
    const auto tokens = Cct(config).image_tokens();
    ASSERT_TRUE(tokens.has_value());
    EXPECT_TRUE(tokens->overlap());
    EXPECT_EQ(tokens->rows * tokens->stride, 64);
    // All pixels that reach a token in the middle, whichever of them max pooling picks.
    const auto seen_by = [&](int64_t column) {
      auto x = torch::randn({64, 3, 64, 64}).requires_grad_();
      const auto middle = tokens->rows / 2 * tokens->columns + column;
      tokenizer(x).select(1, middle).sum().backward();
      return x.grad().abs().sum({0, 1, 2}).nonzero().flatten();  // columns of pixels
    };
    const auto here = seen_by(tokens->columns / 2), next = seen_by(tokens->columns / 2 + 1);
    EXPECT_EQ((here.max() - here.min()).item<int64_t>() + 1, tokens->field);
    EXPECT_EQ((next.min() - here.min()).item<int64_t>(), tokens->stride);
  }
}

}  // namespace vitrine
