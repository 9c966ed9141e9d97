#pragma once

#include "vitrine/labs/lab.h"
#include "vitrine/labs/lesson.h"

namespace vitrine::labs {

/// The parts of lab 1 that follow the steps: why scores are divided by sqrt(d) ...
void teach_scaling(Lesson& lesson, const LabOptions& options);
/// ... and attention over more tokens.
void teach_longer_sequence(Lesson& lesson, const LabOptions& options);

}  // namespace vitrine::labs
