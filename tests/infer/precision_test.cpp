#include "vitrine/infer/precision.h"

#include <torch/torch.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/support/command.h"
#include "tests/support/errors.h"
#include "tests/support/shake.h"
#include "tests/support/small_checkpoint.h"
#include "tests/support/small_model.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/training.h"
#include "vitrine/core/image_files.h"
#include "vitrine/infer/classifier.h"
#include "vitrine/kernels/packed_product.h"

namespace vitrine {
namespace {

using test::contains;
using test::run_command;

/// The linear layers that gave their weights away.
int64_t lowered_layers(const Model& model) {
  int64_t count = 0;
  for (const auto& layer : model.modules())
    if (const auto* linear = layer->as<Linear>())
      count += linear->weight.isnan().all().item<bool>();
  return count;
}

/// The root mean square by which one product is off, relative to its result. A factor whose largest
/// number is four times its root mean square is rounded by up to half a step, a third of that
/// square on average: inputs have 255 steps from the least to the largest number, weights `limit`
/// steps up to the largest; bf16 has steps of 2^-8 of the number.
double error_of_one_product(Precision precision) {
  const double kLargest = 4, kRounded = 1 / std::sqrt(12);
  if (precision == Precision::BFloat16) return std::sqrt(2) * kRounded / 128;
  const double limit = kernels::packed_layout().int8_limit;
  return kLargest * kRounded * std::hypot(2.0 / 255, 1 / limit);
}

/// Expects a shaken classifier to answer in lower precision nearly as in fp32, or to be refused.
void expect_near_fp32(const std::string& name, Precision precision) {
  torch::manual_seed(1);
  const auto model = test::small(name).build();
  test::shake(*model, 0.1);
  model->eval();
  const auto x = model->example_input(6);
  const auto expected = model->forward(x);
  if (model->blocks_in_order().empty()) {
    const auto error = test::error_of([&] { set_precision(*model, precision, name); });
    EXPECT_EQ(error, fmt::format("{}: {} has no transformer blocks, and convolutions compute in "
                                 "fp32 alone; use precision fp32",
                                 precision_name(precision), name));
    EXPECT_TRUE(model->forward(x).equal(expected));
    return;
  }
  set_precision(*model, precision, name);
  const auto layers = lowered_layers(*model);
  EXPECT_GE(layers, 4 * std::ssize(model->blocks_in_order()));  // attention and feed-forward
  const auto error = ((model->forward(x) - expected).norm() / expected.norm()).item<double>();
  EXPECT_GT(error, 0);
  // Relative errors of layers in a row add up at most.
  EXPECT_LT(error, static_cast<double>(layers) * error_of_one_product(precision));
}

/// The number of equal predictions of two classifiers.
int64_t equal_answers(const Classifier& a, const Classifier& b, const Dataset& data) {
  int64_t equal = 0;
  for (int64_t i = 0; i < data.size(); ++i) {
    const auto image = data.get(i).image;
    equal += a.classify(image, 1)[0].index == b.classify(image, 1)[0].index;
  }
  return equal;
}

class PrecisionCommands : public testing::Test {
 protected:
  PrecisionCommands() {
    test::save_small_checkpoint(vit_, "vit_c10_small", test::kSmallVit);
    Image image(16, 16);
    for (size_t i = 0; i < image.pixels.size(); ++i) image.pixels[i] = static_cast<uint8_t>(i * 37);
    write_png(image_, image);
  }

  test::TemporaryFolder folder_;
  const fs::path vit_ = folder_ / "vit.safetensors", image_ = folder_ / "image.png";
};

}  // namespace

TEST(SetPrecision, HardlyChangesAnyClassifier) {
  const torch::NoGradGuard no_grad;
  int64_t classifiers = 0;
  for (const auto& name : models().names()) {
    if (!models().get(name).alias_of.empty()) continue;
    if (test::small(name).build()->task() != Task::Classes) continue;
    ++classifiers;
    for (const auto precision : {Precision::BFloat16, Precision::Int8}) {
      SCOPED_TRACE(name + " in " + precision_name(precision));
      expect_near_fp32(name, precision);
    }
  }
  EXPECT_GT(classifiers, 20);
}

TEST(SetPrecision, LeavesFp32AsItIs) {
  torch::manual_seed(1);
  const auto model = test::small("vit_ti16").build();
  const auto x = model->example_input(2);
  const auto y = model->forward(x);
  set_precision(*model, Precision::Float32, "vit_ti16");
  EXPECT_EQ(lowered_layers(*model), 0);
  EXPECT_TRUE(model->forward(x).equal(y));
}

TEST(PrepareForInference, ChangesFp32ByRoundingAlone) {
  const torch::NoGradGuard no_grad;
  for (const auto* name :
       {"vit_ti16", "swin_t", "pvt_tiny", "resnet18", "igpt_s", "sparse_c10_tiny"}) {
    torch::manual_seed(1);
    const auto model = test::small(name).build();
    test::shake(*model, 0.1);
    model->eval();
    const auto x = model->example_input(2);
    const auto y = model->forward(x);
    prepare_for_inference(*model, Precision::Float32, name);
    const bool packed = !model->blocks_in_order().empty();
    EXPECT_EQ(lowered_layers(*model) > 0, packed) << name;
    EXPECT_LT(((model->forward(x) - y).norm() / y.norm()).item<double>(), 1e-5) << name;
  }
}

TEST(SetPrecision, RefusesNetworksThatDoNotClassifyImages) {
  for (const auto* name : {"igpt_s", "addition_transformer", "word_transformer"}) {
    const auto model = test::small(name).build();
    EXPECT_TRUE(contains(test::error_of([&] { set_precision(*model, Precision::Int8, name); }),
                         fmt::format("int8: {} does not classify images", name)));
  }
}

TEST(SetPrecision, NotesWhatGainsNothing) {
  EXPECT_EQ(precision_note(Precision::Float32), "");
  EXPECT_EQ(precision_note(Precision::Int8), "");
  EXPECT_EQ(precision_note(Precision::BFloat16).empty(), kernels::has_bf16_products());
}

TEST(LowerPrecision, HardlyChangesTheAnswersOfATrainedNetwork) {
  const test::TemporaryFolder folder;
  write_file_atomically(folder / "r.yaml", test::small_recipe());
  const auto trained =
      run_command({"train", (folder / "r.yaml").string(), "--out", (folder / "runs").string()});
  ASSERT_EQ(trained.code, 0) << trained.err;
  const auto run = test::only_run(folder / "runs");
  DataConfig config;
  Settings::from_text("dataset: {name: synthetic, train: 4, test: 100, image: 16, classes: 4}",
                      "test")
      .read_into(config);
  const auto data = open_image_split(resolved_data_config(config), /*seed=*/3, Split::Test);
  const auto fp32 = Classifier::load(run);
  EXPECT_EQ(equal_answers(fp32, Classifier::load(run, "cpu", Precision::Float32), *data), 100);
  for (const auto precision : {Precision::BFloat16, Precision::Int8})
    EXPECT_GE(equal_answers(fp32, Classifier::load(run, "cpu", precision), *data), 95)
        << precision_name(precision);
}

TEST_F(PrecisionCommands, PredictTakesAPrecision) {
  const auto answer = [&](std::vector<std::string> more) {
    std::vector<std::string> line = {"predict", image_.string(), "-m", vit_.string(), "--json"};
    line.insert(line.end(), more.begin(), more.end());
    const auto outcome = run_command(line);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return nlohmann::json::parse(outcome.out)["predictions"][0]["probability"].get<double>();
  };
  const auto fp32 = answer({});
  EXPECT_EQ(answer({"--precision", "fp32"}), fp32);
  for (const auto* precision : {"bf16", "int8"}) {
    EXPECT_NE(answer({"--precision", precision}), fp32);
    EXPECT_NEAR(answer({"--precision", precision}), fp32, 0.02);
  }
}

TEST_F(PrecisionCommands, SayWhatTheyComputedIn) {
  const auto eval = run_command({"eval", vit_.string(), "--json", "--precision", "int8"});
  ASSERT_EQ(eval.code, 0) << eval.err;
  EXPECT_EQ(nlohmann::json::parse(eval.out)["precision"], "int8");
  const auto bench = run_command({"bench", "infer", "--model", vit_.string(), "--batch", "2",
                                  "--seconds", "0", "--precision", "bf16", "--json"});
  ASSERT_EQ(bench.code, 0) << bench.err;
  EXPECT_EQ(nlohmann::json::parse(bench.out)["precision"], "bf16");
  const bool noted = bench.err.find("note: this CPU has no bf16 instructions") != std::string::npos;
  EXPECT_EQ(noted, !kernels::has_bf16_products());
}

TEST_F(PrecisionCommands, ExplainTakesAPrecision) {
  const auto outcome = run_command({"explain", image_.string(), "-m", vit_.string(), "-o",
                                    (folder_ / "out").string(), "--precision", "int8", "--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto json = nlohmann::json::parse(outcome.out);
  for (const auto* method : {"rollout", "relevance", "gradcam"})
    EXPECT_GT(json[method]["greatest"].get<double>(), 0) << method;
}

TEST_F(PrecisionCommands, RefuseWhatCannotBe) {
  const auto refusal = [&](const std::vector<std::string>& line, int code,
                           const std::string& words) {
    const auto outcome = run_command(line);
    EXPECT_EQ(outcome.code, code);
    EXPECT_TRUE(contains(outcome.err, words));
  };
  refusal({"predict", image_.string(), "-m", vit_.string(), "--precision", "int4"}, 2,
          "'int4' is not known; did you mean 'int8'? (known: fp32, bf16, int8)");
  refusal({"predict", "1+2", "-m", vit_.string(), "--precision", "int8"}, 1,
          "predict: addition models compute in fp32 alone; leave out --precision int8");
  refusal({"bench", "infer", "--model", "resnet18", "--image", "32", "--precision", "int8"}, 1,
          "int8: resnet18 has no transformer blocks");
  refusal({"bench", "infer", "--model", "addition_transformer", "--precision", "bf16"}, 1,
          "bf16: addition_transformer does not classify images");
  refusal({"bench", "train", "--precision", "int8"}, 2,
          "'int8' is not known (known: fp32, bf16, auto)");
}

}  // namespace vitrine
