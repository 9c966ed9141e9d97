#pragma once

#include "vitrine/labs/lesson.h"
#include "vitrine/labs/sequences_numbers.h"

namespace vitrine::labs {

/// The second half of lab 5: where the trained Transformers look, what their heads do, and which
/// values matter.
void teach_inside_transformer(Lesson& lesson, const SequenceNumbers& numbers);

}  // namespace vitrine::labs
