#pragma once

#include <string>
#include <vector>

#include "vitrine/labs/lesson.h"
#include "vitrine/labs/positions/numbers.h"
#include "vitrine/plot/figure.h"

namespace vitrine::labs::positions {

/// The table of sinusoidal positions and some of its waves.
plot::Figure sinusoidal_figure(const Lesson& lesson, const Encoding& sinusoidal);

/// The encodings side by side: values, similarity to the middle position, length of the rows.
plot::Figure encodings_figure(const Lesson& lesson, const std::vector<Encoding>& encodings);

/// Similarity of sinusoidal positions as a function of their distance, and the biases that
/// relative positions have learned.
plot::Figure relative_figure(const Lesson& lesson, const Similarity& similarity,
                             const TrainedPositions& trained);

/// Outputs for two orders of the same words, without and with positions, and what positions are
/// worth in training.
plot::Figure position_effect_figure(const Lesson& lesson, const std::vector<OrderEffect>& effects,
                                    const std::vector<std::string>& words,
                                    const TrainedPositions& trained);

/// The trained networks' errors on longer waves.
plot::Figure longer_waves_figure(const Lesson& lesson, const TrainedPositions& trained);

}  // namespace vitrine::labs::positions
