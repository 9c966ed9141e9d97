// iGPT by the names of Hugging Face: a file with weights by formula must give the logits that
// Hugging Face's program gives with them (tests/fixtures/make_igpt.py).
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <nlohmann/json.hpp>

#include "tests/support/command.h"
#include "tests/support/errors.h"
#include "tests/support/parity.h"
#include "tests/support/temporary_folder.h"
#include "vitrine/core/settings.h"
#include "vitrine/models/decoder.h"
#include "vitrine/weights/importers.h"

namespace vitrine {
namespace {

constexpr int64_t kColors = 20, kPixels = 16, kDim = 24, kHidden = 96, kLayers = 3;

torch::Tensor matrix(const std::string& name, int64_t out, int64_t in) {
  return test::numbers(name, {out, in}, std::sqrt(3.0 / static_cast<double>(in)));
}

torch::Tensor gain(const std::string& name) { return test::numbers(name, {kDim}, 0.1) + 1; }

/// The state of their small network, in their layout.
NamedTensors hugging_face_tensors() {
  NamedTensors tensors;
  const auto add = [&](const std::string& name, const torch::Tensor& tensor) {
    tensors.emplace_back(name, tensor.contiguous());
  };
  add("transformer.wte.weight", torch::cat({matrix("embedding.weight", kColors, kDim),
                                            test::numbers("start", {1, kDim}, 0.1)}));
  add("transformer.wpe.weight",
      test::numbers("pos_embed", {kPixels, kDim}, std::sqrt(3.0 / (kPixels * kDim))));
  for (int64_t i = 0; i < kLayers; ++i) {
    const auto theirs = fmt::format("transformer.h.{}.", i), ours = fmt::format("blocks.{}.", i);
    const auto linear = [&](const std::string& their, const std::string& our, int64_t out,
                            int64_t in) {
      add(theirs + their + ".weight", matrix(ours + our + ".weight", out, in).t());
      add(theirs + their + ".bias", torch::zeros({out}));
    };
    add(theirs + "ln_1.weight", gain(ours + "norm1.weight"));
    add(theirs + "ln_2.weight", gain(ours + "norm2.weight"));
    linear("attn.c_attn", "attn.qkv", 3 * kDim, kDim);
    linear("attn.c_proj", "attn.proj", kDim, kDim);
    linear("mlp.c_fc", "mlp.fc1", kHidden, kDim);
    linear("mlp.c_proj", "mlp.fc2", kDim, kHidden);
    add(theirs + "attn.bias", torch::ones({1, 1, kPixels, kPixels}).tril());  // their mask
    add(theirs + "attn.masked_bias", torch::full({1}, -1e4));
  }
  add("transformer.ln_f.weight", gain("norm.weight"));
  add("lm_head.weight", matrix("head.weight", kColors, kDim));
  return tensors;
}

class IgptFiles : public testing::Test {
 protected:
  IgptFiles() { file.tensors = hugging_face_tensors(); }
  torch::Tensor& tensor(const std::string& name) {
    for (auto& [known, value] : file.tensors)
      if (known == name) return value;
    return file.tensors.emplace_back(name, torch::Tensor()).second;
  }
  ImportedModel imported(const std::vector<std::string>& settings = {"heads=3"}) const {
    save_safetensors(folder / "model.safetensors", file);
    return import_weights(folder / "model.safetensors", {.settings = settings});
  }
  /// The same as a folder with these JSON files.
  ImportedModel imported_folder(const nlohmann::json& config,
                                const nlohmann::json& processor) const {
    save_safetensors(folder / "model.safetensors", file);
    write_file_atomically(folder / "config.json", config.dump());
    write_file_atomically(folder / "preprocessor_config.json", processor.dump());
    return import_weights(folder.path());
  }
  std::string message() const {
    return test::error_of([&] { imported(); });
  }

  test::TemporaryFolder folder;
  TensorFile file;
};

const nlohmann::json kConfig = {{"model_type", "imagegpt"},  {"n_embd", kDim},
                                {"n_layer", kLayers},        {"n_head", 3},
                                {"n_inner", nullptr},        {"activation_function", "quick_gelu"},
                                {"layer_norm_epsilon", 1e-5}};

nlohmann::json processor(int64_t values) {
  nlohmann::json clusters = nlohmann::json::array();
  for (int64_t i = 0; i < kColors; ++i)
    clusters.push_back(
        std::vector<double>(static_cast<size_t>(values), 0.05 * static_cast<double>(i)));
  return {{"clusters", clusters}, {"size", 4}, {"resample", 2}, {"do_normalize", true}};
}

}  // namespace

TEST_F(IgptFiles, GiveTheLogitsOfHuggingFace) {
  const auto back = imported();
  EXPECT_EQ(back.source, "hugging_face_igpt");
  const auto expected = test::noted("igpt.json", "small");
  const auto tokens =
      torch::tensor(expected["tokens"].get<std::vector<int64_t>>()).view({2, kPixels});
  test::expect_logits(*back.checkpoint.model, tokens, expected["output"]);
  EXPECT_EQ(back.checkpoint.info.preprocess->image, 4);
  EXPECT_TRUE(test::contains(back.untold, "palette"));
  EXPECT_TRUE(test::contains(to_yaml(back.checkpoint.info.model), "colors: 20"));
}

TEST_F(IgptFiles, AFolderTellsHeadsAndPalette) {
  const auto back = imported_folder(kConfig, processor(3));
  EXPECT_TRUE(test::contains(to_yaml(back.checkpoint.info.model), "heads: 3"));
  const auto palette = back.checkpoint.model->decoder()->palette();
  EXPECT_TRUE(
      torch::allclose(palette, (torch::arange(kColors) * 0.05).unsqueeze(1).expand({kColors, 3})));
  const auto sheet = (folder / "sheet.png").string();
  const auto sampled =
      test::run_command({"sample", folder.path().string(), "-n", "1", "-o", sheet});
  EXPECT_EQ(sampled.code, 0) << sampled.err;
}

TEST_F(IgptFiles, RefuseWhatDoesNotFit) {
  EXPECT_TRUE(test::contains(test::error_of([&] { imported_folder(kConfig, processor(2)); }),
                             "a colour of clusters has 2 values, not 3"));
  auto other = kConfig;
  other["activation_function"] = "gelu";
  EXPECT_TRUE(test::contains(test::error_of([&] { imported_folder(other, processor(3)); }),
                             "activation_function \"gelu\" is not supported"));
  auto& bias = tensor("transformer.h.1.attn.c_attn.bias");
  bias = torch::ones({3 * kDim});
  EXPECT_TRUE(test::contains(message(), "transformer.h.1.attn.c_attn.bias is not zero"));
  bias = torch::zeros({3 * kDim});
  tensor("transformer.wpe.weight") = torch::zeros({15, kDim});
  EXPECT_TRUE(test::contains(message(), "15 positions are not those of a square image"));
}

}  // namespace vitrine
