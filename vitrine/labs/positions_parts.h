#pragma once

#include <string>
#include <vector>

#include "vitrine/labs/lesson.h"
#include "vitrine/labs/positions_numbers.h"
#include "vitrine/labs/positions_training.h"

namespace vitrine::labs {

/// The name of a kind of positions.
std::string position_kind_word(const Lesson& lesson, const std::string& kind);
/// The words of lab 3's sentence.
std::vector<std::string> order_words(const Lesson& lesson);

/// The parts of lab 3 that show trained networks: what positions are worth ...
void teach_trained_positions(Lesson& lesson, const std::vector<OrderEffect>& effects,
                             const TrainedPositions& trained);
/// ... and what relative and learned positions have become.
void teach_relative_positions(Lesson& lesson, const Similarity& similarity,
                              const TrainedPositions& trained);

}  // namespace vitrine::labs
