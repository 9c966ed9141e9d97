#pragma once

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <algorithm>

#include "tests/support/errors.h"
#include "tests/support/shake.h"
#include "tests/support/temporary_folder.h"
#include "vitrine/core/settings.h"
#include "vitrine/models/model.h"
#include "vitrine/models/registry.h"
#include "vitrine/weights/importers.h"

namespace vitrine::test {

/// A small model and a file with its weights by the names of a source, for tests of importers.
struct SmallSource {
  SmallSource(const std::string& source, const std::string& model_name,
              const std::vector<std::string>& settings)
      : choice(read_model("name: " + model_name, settings, "test")) {
    torch::manual_seed(3);
    model = choice.build();
    shake(*model, 0.05);
    for (const auto& item : model->named_buffers())
      if (item.key().ends_with("running_var")) item.value().uniform_(0.5, 1.5);
    model->eval();
    file.tensors =
        exported(importers().get(source).map, named_weights(*model), weight_shapes(*model));
  }

  bool has(const std::string& name) const {
    return std::any_of(file.tensors.begin(), file.tensors.end(),
                       [&](const auto& tensor) { return tensor.first == name; });
  }
  void erase(const std::string& name) {
    std::erase_if(file.tensors, [&](const auto& tensor) { return tensor.first == name; });
  }
  ImportedModel imported(const std::vector<std::string>& settings = {},
                         const std::string& name = "a.safetensors") const {
    save_safetensors(folder / name, file);
    return import_weights(folder / name, {.settings = settings});
  }
  std::string message() const {
    return error_of([&] { imported(); });
  }
  /// Every tensor has its place, and the model is this one again.
  void expect_round_trip(const std::string& source) const {
    const torch::NoGradGuard no_grad;
    const auto back = imported();
    EXPECT_EQ(back.source, source);
    EXPECT_EQ(to_yaml(back.checkpoint.info.model), to_yaml(choice));
    const auto x = model->example_input(2);
    EXPECT_TRUE(back.checkpoint.model->forward(x).equal(model->forward(x)));
    EXPECT_EQ(back.account.count(LoadStatus::Loaded) + back.account.count(LoadStatus::Converted),
              std::ssize(file.tensors));
    EXPECT_EQ(back.checkpoint.info.preprocess->mean, (std::vector{0.485, 0.456, 0.406}));
  }

  TemporaryFolder folder;
  ModelChoice choice;
  std::shared_ptr<Model> model;
  TensorFile file;
};

}  // namespace vitrine::test
