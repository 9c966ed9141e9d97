#include <torch/torch.h>

#include "vitrine/core/progress.h"
#include "vitrine/core/settings.h"
#include "vitrine/models/model.h"
#include "vitrine/studies/finetune/study.h"
#include "vitrine/train/throughput.h"
#include "vitrine/weights/weight_shapes.h"

namespace vitrine::finetune {

std::vector<int64_t> image_sides(const ModelChoice& model) {
  const auto numbers = whole_numbers(model);
  const auto own = numbers.at("image");
  const auto patch = numbers.contains("patch") ? numbers.at("patch") : 1;
  std::vector<int64_t> sides = {own};
  for (const int64_t side : {192, 160, 128, 96, 64})
    if (side < own && side % patch == 0) sides.push_back(side);
  return sides;
}

std::vector<SideSpeed> measure_speeds(const ModelChoice& model) {
  constexpr int64_t kBatch = 16;
  constexpr double kSeconds = 3;
  const auto sides = image_sides(model);
  Progress progress("speed", std::ssize(sides), "sizes");
  std::vector<SideSpeed> speeds;
  for (const auto side : sides) {
    const auto network =
        read_model(to_yaml(model), {fmt::format("image={}", side)}, "study finetune").build();
    const auto per_second = [&](const Throughput& t) {
      return 1e3 * static_cast<double>(kBatch) / t.milliseconds;
    };
    const ThroughputOptions options{.batch = kBatch, .seconds = kSeconds};
    const auto training = per_second(measure_training(*network, options));
    speeds.push_back({side, training, per_second(measure_inference(*network, options))});
    progress.update(std::ssize(speeds), fmt::format("{} x {}", side, side));
  }
  return speeds;
}

}  // namespace vitrine::finetune
