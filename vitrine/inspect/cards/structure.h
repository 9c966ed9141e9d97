#pragma once

// The stages of a network, found in its summary: what a figure of its structure shows.

#include <string>
#include <vector>

#include "vitrine/inspect/summary.h"
#include "vitrine/nn/token_grid.h"

namespace vitrine {

/// Attention inside each of many groups of tokens, such as the patches of TNT.
struct InnerAttention {
  int64_t groups = 0;  // 0: there is none
  TokenGrid grid{};
  int64_t width = 0, heads = 0;
};

/// Equal blocks, one after the other, and what stands before them.
struct Stage {
  std::vector<std::string> before;  // "linear 768 → 384", "cls_token"
  bool attention = true;            // otherwise residual blocks of convolutions
  TokenGrid grid{};                 // of the tokens, or of the feature map
  int64_t width = 0, blocks = 0;
  // Of blocks with attention; 0 where the summary does not show it:
  int64_t heads = 0, hidden = 0;
  TokenGrid keys{};    // where they are fewer than the tokens
  int64_t window = 0;  // its side, where attention stays in windows
  InnerAttention inner{};
};

struct ModelStructure {
  std::vector<int64_t> input;  // the example's shape
  std::vector<Stage> stages;
  std::vector<std::string> head;
};

/// `blocks` are the places of blocks, such as "layers.#.blocks.#": # is any number.
ModelStructure model_structure(const ModelSummary& summary, const std::vector<std::string>& blocks);

}  // namespace vitrine
