#pragma once

#include "vitrine/studies/inductive_bias/study.h"
#include "vitrine/studies/measured_part.h"

namespace at {
class Tensor;
}

namespace vitrine {
class Model;
}

namespace vitrine::inductive_bias {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Locality, network, seed, before, after, uniform)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(LocalityPart, images, fraction, init, networks)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ShiftResponse, network, seed, changed, distance, accuracy)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ShiftPart, images, fraction, networks)

/// A network of the study that has been trained.
struct TrainedNetwork {
  std::string network{};
  int64_t seed = 0;
  fs::path run{};
};

/// The runs of each network with the largest fraction of the images that did not fail.
std::vector<TrainedNetwork> best_fed(const NetworkSweeps& sweeps);
/// That fraction.
double largest_fraction(const NetworkSweeps& sweeps);

/// The image moved down and to the right by so many pixels (up and to the left if negative); what
/// comes in is the image mirrored at its border: (B, C, H, W) -> the same.
at::Tensor shifted(const at::Tensor& images, int64_t down, int64_t right);

/// How the answers to images (B, C, H, W) with labels (B) change under shifts of 0 to `most`
/// pixels; the model is in evaluation mode.
ShiftResponse shift_response(Model& model, const at::Tensor& images, const at::Tensor& labels,
                             int64_t most);

/// Distances of networks with attention, before and after training, on the first test images; then
/// those of the pre-trained weights `init`, if it is not empty.
LocalityPart measure_locality(const std::vector<TrainedNetwork>& networks, const fs::path& init,
                              int64_t images);

/// Shifts of 0 to 8 pixels on the first test images.
ShiftPart measure_shifts(const std::vector<TrainedNetwork>& networks, int64_t images);

}  // namespace vitrine::inductive_bias
