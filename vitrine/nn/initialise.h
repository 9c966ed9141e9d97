#pragma once

#include <torch/torch.h>

namespace vitrine {

/// The usual start of vision transformers: linear weights from a normal of std 0.02 cut at two
/// deviations, biases 0; convolutions by He's rule; norms 1 and 0.
void initialise_transformer(torch::nn::Module& module);

}  // namespace vitrine
