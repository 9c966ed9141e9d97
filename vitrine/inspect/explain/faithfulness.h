#pragma once

#include <string>
#include <vector>

#include "vitrine/core/mean_std.h"
#include "vitrine/plot/figure.h"
#include "vitrine/plot/page.h"

namespace vitrine {

/// How the probability of a class changes while parts of an image disappear in an order, the most
/// relevant first (deletion), or appear in it on a blank image (insertion): after 0, 1, ...,
/// kPerturbationSteps equal steps.
struct PerturbationCurves {
  std::string method;  // that gives the order
  std::vector<double> deletion, insertion;
};

inline constexpr int64_t kPerturbationSteps = 20;
inline constexpr const char* kRandomOrder = "random order";

/// The area under a curve whose points are equally far apart, from 0 to 1 (trapezoid rule): the
/// mean probability.
double area_under(const std::vector<double>& curve);

/// The curves of one method over several images.
struct FaithfulnessScore {
  std::string method{};
  std::vector<double> deletion{}, insertion{};  // the mean curves
  MeanStd deletion_area{}, insertion_area{};    // over the images
  std::vector<double> gains{};                  // of each image: insertion area - deletion area
  int64_t beats_random = 0;                     // images whose gain is greater than in random order
};

/// One score per method; every image has the same methods, in the same order.
std::vector<FaithfulnessScore> faithfulness(
    const std::vector<std::vector<PerturbationCurves>>& images);

/// Which method is the most faithful, and whether the images suffice to say so: sentences.
std::string faithfulness_text(const std::vector<FaithfulnessScore>& scores);
plot::Table faithfulness_table(const std::vector<FaithfulnessScore>& scores);
/// Deletion and insertion curves of every method.
plot::Figure faithfulness_figure(const std::vector<FaithfulnessScore>& scores);
/// The mean curves: method, fraction, deletion, insertion.
std::string faithfulness_csv(const std::vector<FaithfulnessScore>& scores);

}  // namespace vitrine
