#pragma once

// The Sparse Transformers that OpenAI has published (with "Distribution Augmentation for Generative
// Modeling", Jun et al. 2020) are .npz files that hold every TensorFlow variable of a training run:
// the weights ("model/h0/q_proj/w:0"), their moving averages ("model/h0/q_proj/w/Ema/ema:0") and
// the optimizer's state. The averages are what those networks are evaluated with, so they come
// first.
//
// The file does not say how many heads there are, what they look at and in which order the bytes
// come. Those networks also differ from ours in three ways that no weight shows:
//   - the row, column and channel added to a token are those of the byte that goes in, not of the
//     byte to be told, and the start has none;
//   - one layer in four is strided, the others see the last `stride` tokens;
//   - the last norm adds 1e-6 to the variance, not 1e-5.

#include <string>
#include <vector>

#include "vitrine/formats/checkpoint.h"

namespace vitrine {

/// The model of such a file. Its sizes come from the weights' shapes; what the shapes do not tell
/// is as in sparse_c10, but for `settings` ("pattern.stride=96"). Missing, unknown and wrongly
/// shaped weights throw and are named. The info holds the model alone.
LoadedCheckpoint import_openai_sparse(const fs::path& npz,
                                      const std::vector<std::string>& settings);

}  // namespace vitrine
