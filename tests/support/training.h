#pragma once

#include <string>
#include <vector>

#include "tests/support/temporary_folder.h"
#include "vitrine/core/files.h"
#include "vitrine/formats/safetensors.h"

namespace vitrine::test {

/// A recipe that trains a small ViT on synthetic images in a few seconds.
inline std::string small_recipe() {
  return R"(name: small
seed: 3
model: {name: vit_c10_small, image: 16, patch: 4, dim: 32, depth: 2, heads: 2, hidden: 64,
        classes: 4, dropout: 0.1, attention_dropout: 0.1, drop_path: 0.1}
data:
  dataset: {name: synthetic, train: 320, test: 64, image: 16, classes: 4}
  batch: 16
  validation: 0.1
  augment: {crop_padding: 2, flip: 0.5, mixup: 0.2}
train:
  epochs: 4
  optimizer: {kind: adamw, lr: 3e-3}
  clip: 1
  ema: 0.9
  label_smoothing: 0.1
)";
}

/// The only run folder below `root`.
inline fs::path only_run(const fs::path& root) {
  std::vector<fs::path> runs;
  if (fs::exists(root))
    for (const auto& entry : fs::directory_iterator(root)) runs.push_back(entry.path());
  return runs.size() == 1 ? runs[0] : fs::path();
}

/// Whether two files hold the same tensors, bit for bit.
inline bool same_tensors(const fs::path& a, const fs::path& b) {
  const auto left = load_safetensors(a), right = load_safetensors(b);
  if (left.tensors.size() != right.tensors.size()) return false;
  for (const auto& [name, tensor] : left.tensors) {
    const auto* other = right.find(name);
    if (other == nullptr || !tensor.equal(*other)) return false;
  }
  return true;
}

}  // namespace vitrine::test
