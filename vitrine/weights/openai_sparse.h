#pragma once

// The Sparse Transformers that OpenAI has published (with "Distribution Augmentation for Generative
// Modeling", Jun et al. 2020) are .npz files that hold every TensorFlow variable of a training run:
// the weights ("model/h0/q_proj/w:0"), their moving averages ("model/h0/q_proj/w/Ema/ema:0") and
// the optimizer's state. The averages are what those networks are evaluated with, so they come
// first.
//
// The file does not say how many heads there are, what they look at and in which order the bytes
// come: the published ones of 15 and 58 million parameters have one strided layer in four
// (spread=per_layer cycle=4 turn=0 pattern.stride=96). Their window is one token shorter than ours.

#include <string>
#include <vector>

#include "vitrine/weights/checkpoint.h"

namespace vitrine {

/// The model of such a file. Its sizes come from the weights' shapes; what the shapes do not tell
/// is as in sparse_c10, but for `settings` ("pattern.stride=96"). Missing, unknown and wrongly
/// shaped weights throw and are named. The info holds the model alone.
LoadedCheckpoint import_openai_sparse(const fs::path& npz,
                                      const std::vector<std::string>& settings);

}  // namespace vitrine
