#pragma once

#include <string>

#include "vitrine/labs/lesson.h"
#include "vitrine/labs/sentence_model.h"

namespace vitrine::labs {

/// The tokens as a learner reads them: the start by its name in the lesson's language.
std::vector<std::string> token_labels(const Lesson& lesson, const SentenceAttention& sentence);

/// A heat map of attention weights for each layer (row) and head (column). Its texts are
/// "heads.*" of the lesson.
plot::Figure head_figure(const Lesson& lesson, const SentenceAttention& sentence,
                         const std::string& title);

}  // namespace vitrine::labs
