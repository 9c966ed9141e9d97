#pragma once

#include "vitrine/labs/lesson.h"
#include "vitrine/labs/self_attention_cost.h"
#include "vitrine/labs/self_attention_numbers.h"

namespace vitrine::labs {

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

}  // namespace vitrine::labs
