#pragma once

#include "vitrine/labs/lesson.h"
#include "vitrine/labs/sequences/numbers.h"

namespace vitrine::labs::sequences {

/// The network's name for learners, and its colour in all figures.
std::string network_word(const Lesson& lesson, WaveNetwork network);
int64_t network_color(WaveNetwork network);

/// Sample waves, how they go on, and how two networks go on.
plot::Figure sample_waves_figure(const Lesson& lesson, const SequenceNumbers& numbers);
/// The attention weights of every head for one wave.
plot::Figure wave_attention_figure(const Lesson& lesson, const SequenceNumbers& numbers);
/// Errors beside the reference's, curves, search for the learning rates, and time.
plot::Figure performance_figure(const Lesson& lesson, const SequenceNumbers& numbers,
                                const WaveBaselines& baselines);
/// Where each head looks from the last position, and how that varies over the seeds.
plot::Figure head_roles_figure(const Lesson& lesson, const SequenceNumbers& numbers);
/// Attention and occlusion by steps back, and one against the other.
plot::Figure position_importance_figure(const Lesson& lesson, const SequenceNumbers& numbers);

}  // namespace vitrine::labs::sequences
