// ResNet by others' names.
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/support/command.h"
#include "tests/support/errors.h"
#include "tests/support/shake.h"
#include "tests/support/temporary_folder.h"
#include "vitrine/models/model.h"
#include "vitrine/models/shapes_only.h"
#include "vitrine/weights/importers.h"

namespace vitrine {
namespace {

constexpr const char* kKeras = "keras_resnet50";

bool is_counter(const std::pair<std::string, torch::Tensor>& weight) {
  return weight.first.ends_with("num_batches_tracked");
}

/// A file with the names and shapes of a model of ours, whose numbers take no memory.
TensorFile hollow_file(const std::string& model) {
  const ShapesOnly shapes_only;
  TensorFile file;
  for (const auto& [name, shape, stacked] : weight_shapes(*ModelChoice(model).build()))
    file.tensors.emplace_back(name, torch::empty(shape, torch::kMeta));
  return file;
}

/// The first source that recognises the file, as `import_weights` takes it.
const std::string& first_source(const TensorFile& file) {
  for (const auto& [name, importer] : importers())
    if (recognises(importer.map, file)) return name;
  static const std::string none = "none";
  return none;
}

std::shared_ptr<Model> random_model(const ModelChoice& choice) {
  torch::manual_seed(5);
  auto model = choice.build();
  const torch::NoGradGuard no_grad;
  test::shake(*model, 0.02);
  for (const auto& item : model->named_buffers())
    if (item.key().ends_with("running_var"))
      item.value().uniform_(0.5, 1.5);
    else if (item.key().ends_with("running_mean"))
      item.value().uniform_(-0.1, 0.1);  // larger ones would leave nothing behind the ReLUs
  model->eval();
  return model;
}

/// Writes tensors as a layers model of TensorFlow.js in one shard.
void save_tfjs(const fs::path& folder, const NamedTensors& tensors) {
  auto weights = nlohmann::json::array();
  std::ofstream shard(folder / "shard.bin", std::ios::binary);
  for (const auto& [name, tensor] : tensors) {
    weights.push_back({{"name", name}, {"shape", tensor.sizes().vec()}, {"dtype", "float32"}});
    shard.write(static_cast<const char*>(tensor.data_ptr()),
                static_cast<std::streamsize>(tensor.nbytes()));
  }
  const nlohmann::json group = {{"paths", {"shard.bin"}}, {"weights", weights}};
  std::ofstream(folder / "model.json")
      << nlohmann::json{{"weightsManifest", nlohmann::json::array({group})}};
}

}  // namespace

TEST(ResNetNames, TellTheVariant) {
  for (const auto* model : {"resnet18", "resnet34", "resnet50", "resnet101", "resnet152"}) {
    const auto file = hollow_file(model);
    const auto& source = first_source(file);
    EXPECT_EQ(source, std::string("torchvision_") + model);
    const auto& importer = importers().get(source);
    const MappedFile mapped(importer.map, file, "test");
    EXPECT_EQ(importer.describe(mapped).model, model);
    EXPECT_EQ(mapped.account().notes.size(), file.tensors.size());
  }
}

TEST(ResNetNames, OfTorchvisionAreOurs) {
  const torch::NoGradGuard no_grad;
  const test::TemporaryFolder folder;
  const auto choice = read_model("name: resnet18", {"classes=5"}, "test");
  const auto model = random_model(choice);
  TensorFile file;
  file.tensors = named_weights(*model);
  const auto path = folder / "a.safetensors";
  const auto x = torch::randn({2, 3, 64, 64});
  // Files before PyTorch 0.4.1 have no counters of batches.
  for (const bool counters : {true, false}) {
    if (!counters) std::erase_if(file.tensors, is_counter);
    save_safetensors(path, file);
    const auto imported = import_weights(path, {});
    EXPECT_EQ(imported.source, "torchvision_resnet18");
    EXPECT_TRUE(imported.checkpoint.model->forward(x).equal(model->forward(x)));
    EXPECT_EQ(imported.account.count(LoadStatus::Missing), counters ? 0 : 20);
    const auto& preprocess = imported.checkpoint.info.preprocess;
    EXPECT_EQ(preprocess->image, 224);
    EXPECT_EQ(preprocess->resize, 256);
    EXPECT_EQ(preprocess->mean, (std::vector{0.485, 0.456, 0.406}));
  }
  file.tensors.emplace_back("layer4.2.conv1.weight", torch::zeros({1}));
  save_safetensors(path, file);
  EXPECT_TRUE(test::contains(test::error_of([&] { import_weights(path, {}); }),
                             "'layer4.2.conv1.weight', which the model has no place for"));
}

TEST(ResNetNames, NaNIsTakenButSaid) {
  const test::TemporaryFolder folder;
  const auto model = random_model(read_model("name: resnet18", {"classes=5"}, "test"));
  model->named_buffers()["layer1.0.bn1.running_var"][3] = NAN;
  TensorFile file;
  file.tensors = named_weights(*model);
  const auto path = (folder / "a.safetensors").string();
  save_safetensors(path, file);
  const auto outcome =
      test::run_command({"import", path, "-o", (folder / "b.safetensors").string()});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_TRUE(test::contains(
      outcome.err, "NaN or infinity in 1 weight tensor, first in 'layer1.0.bn1.running_var'"));
}

TEST(ResNetNames, OfKerasComeFromTensorFlowJs) {
  const torch::NoGradGuard no_grad;
  const test::TemporaryFolder folder;
  const auto choice =
      read_model("name: resnet50",
                 {"classes=5", "stride_first=true", "conv_bias=true", "norm_eps=0.001"}, "test");
  const auto model = random_model(choice);
  auto weights = named_weights(*model);
  std::erase_if(weights, is_counter);
  const auto theirs = exported(importers().get(kKeras).map, weights, weight_shapes(*model));
  EXPECT_EQ(theirs.size(), 320);
  save_tfjs(folder.path(), theirs);
  const auto imported = import_weights(folder / "model.json", {});
  EXPECT_EQ(imported.source, kKeras);
  EXPECT_EQ(to_yaml(imported.checkpoint.info.model), to_yaml(choice));
  EXPECT_EQ(to_yaml(stored_info(folder / "model.json").model), to_yaml(choice));
  const auto x = torch::randn({1, 3, 64, 64});
  EXPECT_TRUE(imported.checkpoint.model->forward(x).equal(model->forward(x)));
  // Their first convolution reads blue, green, red in the layout (h, w, in, out).
  const auto ours = model->named_parameters()["conv1.weight"];
  const auto& [first, kernel] = theirs[0];
  ASSERT_EQ(first, "conv1/kernel");
  for (int64_t c = 0; c < 3; ++c)
    EXPECT_EQ(kernel[4][2][c][9].item<float>(), ours[9][2 - c][4][2].item<float>());
  const auto& preprocess = *imported.checkpoint.info.preprocess;
  EXPECT_NEAR(preprocess.mean[0] * 255, 123.68, 1e-9);  // red
  EXPECT_NEAR(preprocess.std[2] * 255, 1, 1e-9);
}

TEST(ResNetNames, ABlockWithTheStrideFirstLooksElsewhere) {
  const torch::NoGradGuard no_grad;
  const auto with = [](const std::string& setting) {
    return random_model(read_model("name: resnet50", {"classes=5", setting}, "test"));
  };
  const auto last = with("stride_first=false"), first = with("stride_first=true");
  const auto x = torch::randn({1, 3, 64, 64});
  EXPECT_TRUE(torch::isfinite(first->forward(x)).all().item<bool>());
  EXPECT_FALSE(torch::allclose(last->forward(x), first->forward(x)));
  EXPECT_EQ(first->forward(x).sizes(), last->forward(x).sizes());
}

}  // namespace vitrine
