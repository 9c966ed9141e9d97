#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "vitrine/core/files.h"

namespace vitrine {

/// What a classifier answered to one example.
struct ExamplePrediction {
  int64_t index = 0;  // in its split
  int64_t truth = 0, predicted = 0;
  double probability = 0;        // of the predicted class
  double truth_probability = 0;  // of the true class
};

/// What a classifier answered to the test split.
struct TestPredictions {
  std::vector<std::string> classes;
  std::vector<ExamplePrediction> examples{};
};

/// predictions.json: one JSON object with the list `classes` and a list per field of the examples;
/// probabilities have five decimals.
void write_predictions(const fs::path& file, const TestPredictions& predictions);
/// Throws if the file is missing or holds something else.
TestPredictions read_predictions(const fs::path& file);

}  // namespace vitrine
