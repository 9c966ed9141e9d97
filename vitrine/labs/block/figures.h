#pragma once

#include <string>
#include <vector>

#include "vitrine/labs/block/numbers.h"
#include "vitrine/labs/block/residuals_norms.h"
#include "vitrine/labs/lesson.h"
#include "vitrine/plot/figure.h"

namespace vitrine::labs::block {

/// The values after each of the seven steps, and their mean and variance.
plot::Figure dataflow_figure(const Lesson& lesson, const BlockTrace& trace);

/// Attention weights of the untrained block on words, and of trained blocks on waves.
plot::Figure heads_figure(const Lesson& lesson, const BlockTrace& trace,
                          const std::vector<std::string>& words, const NormTrainings& trained);

/// Gradients by block and by depth, with and without residuals, and how alike tokens become.
plot::Figure residual_figure(const Lesson& lesson, const std::vector<GradientSeries>& gradients);

/// LayerNorm and BatchNorm by batch size.
plot::Figure norms_figure(const Lesson& lesson, const std::vector<NormComparison>& rows);

/// Validation error of pre- and post-norm stacks while they learn.
plot::Figure norm_places_figure(const Lesson& lesson, const NormTrainings& trained);

/// The two activations, their slopes, and what training with them gave.
plot::Figure activations_figure(const Lesson& lesson, const std::vector<ActivationCurve>& curves,
                                const ActivationTrainings& trained);

}  // namespace vitrine::labs::block
