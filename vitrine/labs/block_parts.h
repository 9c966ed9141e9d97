#pragma once

#include <string>
#include <vector>

#include "vitrine/labs/block_numbers.h"
#include "vitrine/labs/block_training.h"
#include "vitrine/labs/lab.h"
#include "vitrine/labs/lesson.h"

namespace vitrine::labs {

/// The parts of lab 4 that train: where the norms stand ...
void teach_norm_places(Lesson& lesson, const NormTrainings& trained);
/// ... the activation ...
void teach_activations(Lesson& lesson, const LabOptions& options);
/// ... and what the heads look at, before training and after it.
void teach_block_heads(Lesson& lesson, const BlockTrace& trace,
                       const std::vector<std::string>& words, const NormTrainings& trained);

}  // namespace vitrine::labs
