#pragma once

#include <string>

#include "vitrine/inspect/explain.h"

namespace vitrine {

/// "patch" where tokens are cut out side by side, else "token".
std::string token_word(const Explanation& explanation);
/// "patches" or "tokens".
std::string token_words(const Explanation& explanation);
/// How the image becomes tokens, as the model tells: a sentence.
std::string tokens_text(const Explanation& explanation);
/// Whose weights the heads' maps show: "the class token" or "the average query".
std::string query_text(const Explanation& explanation);
/// What the answer reads: "the class token", "the mean of all tokens", "the sequence pooling".
std::string readout_text(const Explanation& explanation);

/// The image and the most likely classes.
plot::Figure prediction_figure(const Explanation& explanation);
/// The image, the pooling's weights (where there are any), the rollout and both together.
plot::Figure rollout_figure(const Explanation& explanation);
/// The image and the maps of the class-specific methods, each alone and over the image.
plot::Figure class_maps_figure(const Explanation& explanation);
/// The image and every method's map over it, in one row without words: for a gallery.
plot::Figure strip_figure(const Explanation& explanation);
/// The image beside a map per layer and head, with the entropy and the range of each.
plot::Figure attention_figure(const Explanation& explanation);
/// One small map per token: how alike its position is to every other's.
plot::Figure positions_figure(const Explanation& explanation);
/// The principal components of the first layer's filters.
plot::Figure filters_figure(const Explanation& explanation);
/// A dot per head: how far it looks, by layer.
plot::Figure distance_figure(const Explanation& explanation);
/// The probability of some classes behind every block.
plot::Figure lens_figure(const Explanation& explanation);

/// How many of all heads' maps are close to uniform or differ little from it, in sentences.
std::string near_uniform_text(const Explanation& explanation);

}  // namespace vitrine
