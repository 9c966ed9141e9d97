#pragma once

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <map>
#include <string>
#include <vector>

#include "tests/support/temporary_folder.h"
#include "vitrine/core/files.h"

namespace vitrine::test {

/// An ONNX file, its input and what torch gave for it.
struct RuntimeJob {
  std::string label;
  fs::path model;
  std::string input;
  torch::Tensor x;
  std::map<std::string, torch::Tensor> expected{};  // by output
};

/// ONNX Runtime from npm (`onnxruntime-node`), fetched once into the build folder by the hashes of
/// tests/onnx/peer/package-lock.json. Skips where npm cannot fetch it.
class OnnxRuntime : public testing::Test {
 protected:
  void SetUp() override;
  /// Runs all jobs in one process and expects every output within `tolerance` of torch's.
  void expect_same(const std::vector<RuntimeJob>& jobs, double tolerance);

  TemporaryFolder folder;
};

}  // namespace vitrine::test
