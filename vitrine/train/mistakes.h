#pragma once

#include <memory>
#include <vector>

#include "vitrine/data/dataset.h"
#include "vitrine/train/objective.h"

namespace vitrine {

/// An example that was classified wrongly.
struct Mistake {
  int64_t index = 0;  // in its split
  int64_t truth = 0, predicted = 0;
  double probability = 0;  // of the predicted class
  double loss = 0;
};

/// The wrongly classified examples with the highest loss, highest first, of batches of
/// `data`.
class MistakesReport : public Report {
 public:
  /// The sheet is called `NAME.png` and has this title.
  MistakesReport(std::shared_ptr<const Dataset> data, int64_t count, std::string name,
                 std::string title);

  void add(const torch::Tensor& output, const torch::Tensor& targets,
           std::span<const int64_t> indices) override;
  /// A row per mistake.
  std::string text() const override;
  nlohmann::ordered_json json() const override;
  /// Writes `sheet(folder)`; nothing if there are no mistakes.
  void save(const fs::path& folder) const override;

  /// A PNG of the images with their true and predicted classes.
  fs::path sheet(const fs::path& folder) const { return folder / (name_ + ".png"); }

  /// At most as many as were asked for.
  const std::vector<Mistake>& worst() const { return worst_; }

 private:
  const std::string& class_name(int64_t index) const { return data_->classes().at(index); }

  std::shared_ptr<const Dataset> data_;
  int64_t count_;
  std::string name_, title_;
  std::vector<Mistake> worst_;
};

}  // namespace vitrine
