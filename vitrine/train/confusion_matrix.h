#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "vitrine/plot/figure.h"

namespace vitrine {

/// How often each true class (row) was taken for each class (column).
struct ConfusionMatrix {
  std::vector<std::string> classes;
  std::vector<int64_t> counts;  // (N, N), row by row

  explicit ConfusionMatrix(std::vector<std::string> class_names);

  void add(int64_t truth, int64_t predicted);
  int64_t at(int64_t truth, int64_t predicted) const;
  /// Number of classes.
  int64_t size() const { return static_cast<int64_t>(classes.size()); }
  int64_t total() const;
  /// The fraction of right predictions; 0 without any.
  double accuracy() const;
};

/// How well one class, or the average class, is predicted. What has nothing to divide by
/// (a class never predicted, say) is 0.
struct ClassScores {
  double precision = 0, recall = 0, f1 = 0;
  int64_t support = 0;  // examples that truly belong to the class
};

ClassScores class_scores(const ConfusionMatrix& matrix, int64_t index);
/// The mean over the classes, each counting the same.
ClassScores macro_average(const ConfusionMatrix& matrix);
/// The mean over the classes, each counting by its support.
ClassScores weighted_average(const ConfusionMatrix& matrix);

/// The scores as a table in scikit-learn's layout.
std::string classification_report(const ConfusionMatrix& matrix);
/// The scores and the matrix as JSON, with all digits.
std::string classification_report_json(const ConfusionMatrix& matrix);

/// The matrix in colours: of each true class (row) the fraction taken for each class, so that rare
/// classes count as much as frequent ones; a class without examples is grey. Up to 30 classes have
/// their counts in the cells. `split` names the examples in the title.
plot::HeatMap confusion_heat_map(const ConfusionMatrix& matrix, const std::string& split);

}  // namespace vitrine
