#include <gtest/gtest.h>

#include <cstring>

#include "tests/onnx/small_export.h"
#include "tests/support/command.h"
#include "tests/support/errors.h"
#include "tests/support/small_checkpoint.h"
#include "tests/support/temporary_folder.h"
#include "vitrine/onnx/export.h"
#include "vitrine/onnx/file.h"
#include "vitrine/onnx/model_graph.h"

namespace vitrine {
namespace {

using torch::Tensor;

/// Why a function of a batch (B, 3) has no graph.
std::string refusal(const std::function<Tensor(const Tensor&)>& f) {
  const torch::nn::Module nothing;
  const auto traced = [&](const Tensor& x) -> std::vector<Tensor> { return {f(x)}; };
  return test::error_of([&] {
    graph_of(nothing, traced, torch::randn({2, 3}), torch::randn({3, 3}), "x", {"y"});
  });
}

/// x + 1 by a loop that torch knows nothing of.
Tensor hidden_sum(const Tensor& x) {
  const auto in = x.contiguous();
  auto out = torch::empty(x.sizes(), x.options());
  for (int64_t i = 0; i < x.numel(); ++i) out.data_ptr<float>()[i] = in.data_ptr<float>()[i] + 1;
  return out;
}

}  // namespace

TEST(OnnxRefusal, OfAnOperatorNamesIt) {
  const auto error = refusal([](const Tensor& x) { return x.cumsum(1); });
  EXPECT_TRUE(test::contains(error, "aten::cumsum"));
}

TEST(OnnxRefusal, OfAFormOfAnOperatorSaysWhich) {
  const auto error = refusal([](const Tensor& x) { return x.norm(1, -1, false); });
  EXPECT_TRUE(test::contains(error, "aten::norm"));
  EXPECT_TRUE(test::contains(error, "2-norm"));
}

TEST(OnnxRefusal, OfChangesInPlace) {
  const auto error = refusal([](const Tensor& x) { return x.clone().add_(1); });
  EXPECT_TRUE(test::contains(error, "aten::add_"));
  EXPECT_TRUE(test::contains(error, "in place"));
  EXPECT_TRUE(test::contains(refusal([](const Tensor& x) {
                               auto y = torch::zeros({x.size(0), 3});
                               y.copy_(x);
                               return y;
                             }),
                             "in place"));
}

TEST(OnnxRefusal, OfDecisionsThatDependOnTheInput) {
  const auto error =
      refusal([](const Tensor& x) { return x.sum().item<float>() > 0 ? x + 1 : x - 1; });
  EXPECT_TRUE(test::contains(error, "reads numbers that depend on the input"));
}

TEST(OnnxRefusal, OfWhatIsBakedForOneBatchSize) {
  const auto rows = refusal(
      [](const Tensor& x) { return x + torch::arange(x.size(0), torch::kFloat).unsqueeze(1); });
  EXPECT_TRUE(test::contains(rows, "batch size"));
  const auto argument = refusal([](const Tensor& x) { return x * x.size(0); });
  EXPECT_TRUE(test::contains(argument, "argument 'other' of aten::mul depends on the batch size"));
  const auto shape =
      refusal([](const Tensor& x) { return x.reshape({x.size(0) * 3}).narrow(0, 0, 2); });
  EXPECT_TRUE(test::contains(shape, "aten::narrow"));
  const auto calls = refusal([](const Tensor& x) { return x.size(0) == 2 ? x + 1 : x.exp(); });
  EXPECT_TRUE(test::contains(calls, "computes differently for batches of 2 and of 3"));
}

TEST(OnnxRefusal, OfKernelsThatTheTraceCannotSee) {
  EXPECT_TRUE(test::contains(refusal([](const Tensor& x) { return 2 * hidden_sum(x); }), "onnx"));
  const auto constant =
      refusal([](const Tensor& x) { return x + hidden_sum(x).mean(0, /*keepdim=*/true); });
  EXPECT_TRUE(test::contains(constant, "change from one pass to the next"));
}

TEST(OnnxRefusal, OfFilesThatProtocolBuffersCannotHold) {
  const test::TemporaryFolder folder;
  OnnxGraph graph{.name = "large"};
  graph.constants.push_back(
      {"weight", OnnxType::Float, {1000}, std::make_shared<std::array<float, 1000>>(), 4000});
  const auto error = test::error_of([&] { write_onnx(folder / "m.onnx", graph, /*limit=*/3999); });
  EXPECT_TRUE(test::contains(error, "the file of large would take"));
  EXPECT_FALSE(fs::exists(folder / "m.onnx"));
}

TEST(OnnxRefusal, OfGraphsThatAreNotValid) {
  const test::TemporaryFolder folder;
  OnnxGraph graph{.name = "broken", .inputs = {{"x", OnnxType::Float, {kOnnxBatch, 3}}}};
  graph.outputs = {{"y", OnnxType::Float, {kOnnxBatch, 4}}};
  graph.nodes = {{"Relu", {"x"}, {"y"}, {}}};
  const auto error = test::error_of([&] { write_onnx(folder / "m.onnx", graph); });
  EXPECT_TRUE(test::contains(error, "the graph of broken is not valid"));
  EXPECT_FALSE(fs::exists(folder / "m.onnx"));
}

TEST(OnnxRefusal, OfAttentionWeightsThatNoLayerHolds) {
  const test::TemporaryFolder folder;
  for (const auto* name : {"resnet18", "sparse_c10_tiny"}) {
    const auto loaded = test::small_checkpoint(name);
    const auto error =
        test::error_of([&] { export_onnx(loaded, folder / "m.onnx", {.attention = true}); });
    EXPECT_TRUE(test::contains(error, "leave out --attention")) << name;
  }
}

TEST(OnnxCommand, RefusesWhatItCannotWrite) {
  const test::TemporaryFolder folder;
  const auto checkpoint = (folder / "m.safetensors").string();
  test::save_small_checkpoint(checkpoint, "vit_c10_small", test::kSmallVit);
  const auto run = [&](const std::string& out, const std::string& format = "onnx") {
    return test::run_command({"export", checkpoint, "--format", format, "-o", out});
  };
  const auto nowhere = run((folder / "missing" / "m.onnx").string());
  EXPECT_EQ(nowhere.code, 1);
  EXPECT_TRUE(test::contains(nowhere.err, "missing"));
  const auto ending = run((folder / "m.txt").string());
  EXPECT_EQ(ending.code, 2);
  EXPECT_TRUE(test::contains(ending.err, ".onnx"));
  EXPECT_EQ(run((folder / "m.onnx").string(), "onxn").code, 2);
  const auto absent = test::run_command(
      {"export", (folder / "no.safetensors").string(), "-o", (folder / "m.onnx").string()});
  EXPECT_EQ(absent.code, 1);
  EXPECT_TRUE(test::contains(absent.err, "no.safetensors"));
}

}  // namespace vitrine
