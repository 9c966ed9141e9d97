#include <gtest/gtest.h>
#include <torch/torch.h>

#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"
#include "vitrine/core/settings.h"
#include "vitrine/formats/npz.h"
#include "vitrine/models/model.h"
#include "vitrine/weights/importers.h"

namespace vitrine {
namespace {

const fs::path kWeights = VITRINE_SOURCE_DIR "/tests/fixtures/openai_sparse.npz";
/// Layers are strided and local in turn.
const std::vector<std::string> kPattern = {"pattern.stride=8", "assignment=per_layer",
                                           "layer_period=2", "layer_phase=0"};
constexpr double kLogitTolerance = 1e-4;

/// What fixtures/make_openai_sparse.py has computed.
bool tells_as_expected(Model& model) {
  const torch::NoGradGuard no_grad;
  const auto expected = load_npz(VITRINE_SOURCE_DIR "/tests/fixtures/openai_sparse_expected.npz");
  const auto logits = model.forward(expected.find("bytes")->unsqueeze(0)).squeeze(0);
  return torch::allclose(logits, *expected.find("logits"), kLogitTolerance, kLogitTolerance);
}

LoadedCheckpoint import_sparse(const fs::path& path, const std::vector<std::string>& settings) {
  const auto imported = import_weights(path, {.settings = settings});
  EXPECT_EQ(imported.source, "openai_sparse");
  return imported.checkpoint;
}

class OpenAiSparse : public testing::Test {
 protected:
  torch::Tensor& weight(const std::string& name) {
    for (auto& [known, tensor] : weights)
      if (known == name) return tensor;
    return weights.emplace_back(name, torch::Tensor()).second;
  }
  void remove(const std::string& name) {
    std::erase_if(weights, [&](const auto& w) { return w.first == name; });
  }
  /// The model of the weights as they are now.
  LoadedCheckpoint imported(const std::vector<std::string>& settings = kPattern) const {
    save_npz(folder / "changed.npz", weights);
    return import_sparse(folder / "changed.npz", settings);
  }
  std::string message(const std::vector<std::string>& settings = kPattern) const {
    return test::error_of([&] { imported(settings); });
  }

  test::TemporaryFolder folder;
  NamedTensors weights = load_npz(kWeights).tensors;
};

}  // namespace

TEST_F(OpenAiSparse, GivesTheLogitsOfAnIndependentProgram) {
  const auto loaded = import_sparse(kWeights, kPattern);
  EXPECT_FALSE(loaded.model->is_training());
  EXPECT_TRUE(tells_as_expected(*loaded.model));
  const auto sizes = whole_numbers(loaded.info.model);
  EXPECT_EQ(sizes.at("layers"), 2);
  EXPECT_EQ(sizes.at("dim"), 16);
  EXPECT_EQ(sizes.at("key_width"), 8);
  EXPECT_EQ(sizes.at("hidden"), 32);
  EXPECT_EQ(sizes.at("rows"), 4);
  EXPECT_EQ(sizes.at("columns"), 4);
  EXPECT_EQ(sizes.at("channels"), 3);
  EXPECT_EQ(sizes.at("heads"), 2);
}

TEST_F(OpenAiSparse, TakesThePatternFromTheUser) {
  const auto tells_with = [](const std::string& setting) {
    auto settings = kPattern;
    settings.push_back(setting);
    return tells_as_expected(*import_sparse(kWeights, settings).model);
  };
  EXPECT_TRUE(tells_with("pattern.short_window=true"));
  EXPECT_FALSE(tells_with("pattern.short_window=false"));  // the paper's window
  EXPECT_FALSE(tells_with("pattern.stride=4"));
  EXPECT_FALSE(tells_with("heads=4"));
}

// One strided layer in four, the first or (with 150 million parameters) the second; the others are
// local, over a row of 32 pixels.
TEST_F(OpenAiSparse, OfCifar10HasThePublishedPattern) {
  const auto settings_of = [&](int64_t key_width) {
    weight("model/pos_emb_0:0") = torch::zeros({32, 16});
    weight("model/pos_emb_1:0") = torch::zeros({32, 16});
    for (const auto* layer : {"h0", "h1"})
      for (const auto* name : {"q_proj", "k_proj"}) {
        weight(fmt::format("model/{}/{}/w:0", layer, name)) = torch::zeros({16, key_width});
        weight(fmt::format("model/{}/{}/b:0", layer, name)) = torch::zeros({key_width});
      }
    return to_yaml(imported({}).info.model);
  };
  struct Published {
    int64_t key_width;
    const char *phase, *heads;
  };
  for (const auto& [key_width, phase, heads] : {Published{8, "layer_phase: 0\n", "heads: 2\n"},
                                                Published{16, "layer_phase: 1\n", "heads: 16\n"}}) {
    const auto yaml = settings_of(key_width);
    for (const auto* line : {phase, heads, "assignment: per_layer\n", "layer_period: 4\n",
                             "stride: 96\n", "short_window: true\n"})
      EXPECT_TRUE(test::contains(yaml, line));
  }
}

TEST_F(OpenAiSparse, SurvivesACheckpoint) {
  const auto loaded = import_sparse(kWeights, kPattern);
  save_checkpoint(folder / "a.safetensors", *loaded.model, loaded.info);
  EXPECT_TRUE(tells_as_expected(*load_checkpoint(folder / "a.safetensors").model));
}

TEST_F(OpenAiSparse, ReadsWeightsOfConvolutionsAndATransposedHead) {
  for (auto& [name, tensor] : weights)
    if (name.ends_with("/w:0")) tensor = tensor.unsqueeze(0);
  weight("model/gen_logits/logits_proj:0").t_();
  EXPECT_TRUE(tells_as_expected(*imported().model));
}

TEST_F(OpenAiSparse, PrefersTheAveragesAndPassesOverTheTrainingState) {
  const auto plain = weights;
  for (const auto& [name, tensor] : plain) {
    weight(name.substr(0, name.size() - 2) + "/Ema/ema:0") = tensor;
    weight(name.substr(0, name.size() - 2) + "/Adam:0") = torch::zeros_like(tensor);
    weight(name.substr(0, name.size() - 2) + "/Adam_1:0") = torch::zeros_like(tensor);
    weight(name) = torch::zeros_like(tensor);
  }
  weight("global_step:0") = torch::tensor(7, torch::kInt64);
  weight("adam_beta/beta1_power:0") = torch::tensor(0.9);
  save_npz(folder / "changed.npz", weights);
  const auto both = import_weights(folder / "changed.npz", {.settings = kPattern});
  EXPECT_TRUE(tells_as_expected(*both.checkpoint.model));
  const auto tensors = std::ssize(plain);
  EXPECT_EQ(both.account.count(LoadStatus::Loaded) + both.account.count(LoadStatus::Converted),
            tensors);
  EXPECT_EQ(both.account.count(LoadStatus::Skipped), 3 * tensors + 2);
}

TEST_F(OpenAiSparse, NamesWhatIsMissing) {
  remove("model/h1/mlp_proj2/b:0");
  remove("model/we:0");
  EXPECT_TRUE(test::contains(message(),
                             "changed.npz lacks 'model/we:0', 'model/h1/mlp_proj2/b:0'; is the"));
  weights = {{"model/other:0", torch::zeros({1})}};
  EXPECT_TRUE(test::contains(message(), "are of no known source; known are: "));
  EXPECT_TRUE(test::contains(message(), "a Sparse Transformer as OpenAI published them"));
}

TEST_F(OpenAiSparse, NamesWhatItHasNoPlaceFor) {
  weight("model/sos_token/sos_rot:0") = torch::zeros({4, 16});
  EXPECT_TRUE(
      test::contains(message(), "holds 'model/sos_token/sos_rot:0', which the model has no"));
  remove("model/sos_token/sos_rot:0");
  weight("model/h9999999999999/mlp/g:0") = torch::zeros({16});
  EXPECT_TRUE(test::contains(message(), "holds 'model/h9999999999999/mlp/g:0', which"));
}

TEST_F(OpenAiSparse, RefusesShapesThatDoNotFitEachOther) {
  const auto message_with = [&](const std::string& name, const torch::Tensor& other) {
    const auto kept = weight(name);
    weight(name) = other;
    const auto result = message();
    weight(name) = kept;
    return result;
  };
  EXPECT_TRUE(test::contains(message_with("model/h1/k_proj/w:0", torch::zeros({16, 4})),
                             "'model/h1/k_proj/w:0' is 16x4, the other weights ask for 16x8"));
  EXPECT_TRUE(test::contains(message_with("model/pos_emb_1:0", torch::zeros({4, 15})),
                             "'model/pos_emb_1:0' is 4x15, the other weights ask for 4x16"));
  EXPECT_TRUE(test::contains(message_with("model/we:0", torch::zeros({250, 16})),
                             "'model/we:0' is 250x16, the other weights ask for 256x16"));
  EXPECT_TRUE(test::contains(message_with("model/h0/mlp/g:0", torch::tensor(1.0)),
                             "'model/h0/mlp/g:0' is a number"));
  EXPECT_TRUE(test::contains(message_with("model/pos_emb_0:0", torch::zeros({4})),
                             "'model/pos_emb_0:0' is 4, expected a matrix"));
}

TEST_F(OpenAiSparse, RefusesSettingsThatTheWeightsContradict) {
  EXPECT_TRUE(test::contains(message({"layers=3"}), "layers=3, but the weights of"));
  EXPECT_TRUE(test::contains(message({"layers=3"}), "are for layers=2; leave it out"));
  EXPECT_TRUE(test::contains(message({"heads=3"}), "heads 3 do not divide"));
  EXPECT_TRUE(test::contains(message({"pattern.strde=8"}), "strde"));
}

}  // namespace vitrine
