#include "vitrine/train/predictions.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "vitrine/core/error.h"

namespace vitrine {
namespace {

double with_five_decimals(double value) { return std::round(1e5 * value) / 1e5; }

}  // namespace

void write_predictions(const fs::path& file, const TestPredictions& predictions) {
  auto index = nlohmann::ordered_json::array(), truth = index, predicted = index,
       probability = index, truth_probability = index;
  for (const auto& e : predictions.examples) {
    index.push_back(e.index);
    truth.push_back(e.truth);
    predicted.push_back(e.predicted);
    probability.push_back(with_five_decimals(e.probability));
    truth_probability.push_back(with_five_decimals(e.truth_probability));
  }
  const nlohmann::ordered_json json = {{"split", "test"},
                                       {"classes", predictions.classes},
                                       {"index", index},
                                       {"true", truth},
                                       {"predicted", predicted},
                                       {"probability", probability},
                                       {"true_probability", truth_probability}};
  // A class is named by a folder, whose bytes need not be UTF-8.
  write_file_atomically(file,
                        json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

TestPredictions read_predictions(const fs::path& file) {
  try {
    const auto json = nlohmann::json::parse(read_file(file));
    TestPredictions predictions{json.at("classes")};
    const auto &index = json.at("index"), &truth = json.at("true"),
               &predicted = json.at("predicted"), &probability = json.at("probability"),
               &truth_probability = json.at("true_probability");
    const auto classes = std::ssize(predictions.classes);
    for (size_t i = 0; i < index.size(); ++i) {
      const auto& e = predictions.examples.emplace_back(
          ExamplePrediction{.index = index.at(i),
                            .truth = truth.at(i),
                            .predicted = predicted.at(i),
                            .probability = probability.at(i),
                            .truth_probability = truth_probability.at(i)});
      check(e.index >= 0 && e.truth >= 0 && e.truth < classes && e.predicted >= 0 &&
                e.predicted < classes,
            "predictions: {} has example {} with classes {} and {} of {}", file.string(), e.index,
            e.truth, e.predicted, classes);
    }
    return predictions;
  } catch (const nlohmann::json::exception& e) {
    fail("predictions: {} does not hold the predictions of a run ({})", file.string(), e.what());
  }
}

}  // namespace vitrine
