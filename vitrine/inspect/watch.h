#pragma once

#include "vitrine/inspect/summary.h"

namespace vitrine {

/// The layers that run while `model` computes `forward`, in their order, and after them the
/// parameters that no layer owns, each at the place where it was first used.
std::vector<LayerSummary> watch_forward(Model& model);

}  // namespace vitrine
