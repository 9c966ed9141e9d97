#include <algorithm>
#include <cmath>

#include "vitrine/core/error.h"
#include "vitrine/studies/finetune/study.h"

namespace vitrine::finetune {
namespace {

constexpr int64_t kEnoughPerClass = 250, kFewestPerClass = 20;
constexpr int64_t kShortestLongRun = 20;  // epochs
constexpr double kOverhead = 1.15;        // loading images, writing checkpoints

double total(const std::vector<int64_t>& epochs) {
  double sum = 0;
  for (const auto n : epochs) sum += static_cast<double>(n);
  return sum;
}

/// Seconds of all runs that do not depend on the number of training images.
double evaluation_seconds(const PlanRequest& r, const SideSpeed& speed,
                          const std::vector<int64_t>& epochs) {
  const double images = total(epochs) * static_cast<double>(r.validation) +
                        static_cast<double>(epochs.size()) * static_cast<double>(r.test);
  return kOverhead * static_cast<double>(r.runs) * images / speed.inference;
}

/// Seconds of all runs for each training image.
double image_seconds(const PlanRequest& r, const SideSpeed& speed,
                     const std::vector<int64_t>& epochs) {
  return kOverhead * static_cast<double>(r.runs) * total(epochs) / speed.training;
}

/// The training images that fit the time, as many of each class.
int64_t images_in_time(const PlanRequest& r, const SideSpeed& speed,
                       const std::vector<int64_t>& epochs) {
  const double left = 3600 * r.hours - evaluation_seconds(r, speed, epochs);
  const double images =
      std::clamp(left / image_seconds(r, speed, epochs), 0.0, static_cast<double>(r.images));
  return static_cast<int64_t>(images) / r.classes * r.classes;
}

/// The epochs with those of the longest experiment at most `most`.
std::vector<int64_t> shortened(std::vector<int64_t> epochs, int64_t most) {
  auto longest = std::max_element(epochs.begin(), epochs.end());
  *longest = std::min(*longest, most);
  return epochs;
}

}  // namespace

Plan make_plan(const PlanRequest& r, const std::vector<SideSpeed>& speeds) {
  check(!speeds.empty() && !r.epochs.empty(), "study finetune: there is nothing to plan");
  const auto longest = *std::max_element(r.epochs.begin(), r.epochs.end());
  Plan plan{.hours = r.hours, .speeds = speeds};
  const auto take = [&](const SideSpeed& speed, int64_t images, std::vector<int64_t> epochs) {
    plan.image = speed.image;
    plan.images = images;
    plan.estimate = (evaluation_seconds(r, speed, epochs) +
                     image_seconds(r, speed, epochs) * static_cast<double>(images)) /
                    3600;
    plan.epochs = std::move(epochs);
    return plan;
  };
  const auto enough = std::min(kEnoughPerClass * r.classes, r.images);
  for (const auto most : {longest, (longest + kShortestLongRun) / 2, kShortestLongRun}) {
    const auto epochs = shortened(r.epochs, most);
    for (const auto& speed : speeds)
      if (const auto images = images_in_time(r, speed, epochs); images >= enough)
        return take(speed, images, epochs);
  }
  const auto epochs = shortened(r.epochs, kShortestLongRun);
  const auto fewest = std::min(kFewestPerClass * r.classes, r.images);
  return take(speeds.back(), std::max(images_in_time(r, speeds.back(), epochs), fewest), epochs);
}

}  // namespace vitrine::finetune
