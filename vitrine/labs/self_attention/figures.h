#pragma once

#include <string>

#include "vitrine/labs/lesson.h"
#include "vitrine/labs/self_attention/numbers.h"
#include "vitrine/labs/self_attention/sentence_model.h"

namespace vitrine::labs::self_attention {

/// The tokens as a learner reads them: the start by its name in the lesson's language.
std::vector<std::string> token_labels(const Lesson& lesson, const SentenceAttention& sentence);

/// A heat map of attention weights for each layer (row) and head (column). Its texts are
/// "heads.*" of the lesson.
plot::Figure head_figure(const Lesson& lesson, const SentenceAttention& sentence,
                         const std::string& title);

/// How the heads differ, layer by layer: on held-out sentences, before and after training.
struct LayerDiversity {
  HeadDiversity untrained, trained;
};

/// Q, K, V, scores, weights and output of one head of the first layer (`head` counts from 0).
plot::Figure components_figure(const Lesson& lesson, const SentenceModel& model,
                               const SentenceAttention& sentence, const SelfAttentionParts& parts,
                               int64_t head);

/// Every head's weights, and under them how the heads differ.
plot::Figure multi_head_figure(const Lesson& lesson, const SentenceModel& model,
                               const SentenceAttention& sentence,
                               const std::vector<LayerDiversity>& layers);

/// Chain, time, memory and reach of both layers.
plot::Figure cost_figure(const Lesson& lesson, const CostCurves& costs, const ReachCurves& reach);

}  // namespace vitrine::labs::self_attention
