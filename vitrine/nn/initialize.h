#pragma once

#include <torch/torch.h>

namespace vitrine {

/// Linear weights by Xavier's uniform rule, biases 0; convolutions by He's rule; norms 1 and 0.
void initialize_transformer(torch::nn::Module& module);

}  // namespace vitrine
