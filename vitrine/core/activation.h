#pragma once

namespace vitrine {

/// What stands between the two layers of a feed-forward network. `GeluTanh` is GELU with a tanh in
/// place of erf, `QuickGelu` is x sigmoid(1.702 x): both are close to GELU.
enum class Activation { Gelu, Relu, QuickGelu, GeluTanh };

}  // namespace vitrine
