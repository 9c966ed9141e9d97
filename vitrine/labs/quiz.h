#pragma once

#include <cstdint>
#include <istream>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "vitrine/labs/lesson.h"

namespace vitrine::labs {

/// A question of the quiz: the texts "quiz.<n>.*".
struct Question {
  std::string question{};
  std::vector<std::string> choices{};
  int64_t answer = 0;  // the right choice, counted from 1
  std::string hint{};
  std::string explanation{};
  std::string lab{};  // the one that shows it: "1" .. "5"
};

/// Every question in the order of the labs.
std::vector<Question> quiz_questions(const Translations& texts);

/// How a learner did.
struct QuizScore {
  int64_t answered = 0;
  int64_t right = 0;              // at the first try
  int64_t with_hint = 0;          // at the second
  std::set<std::string> again{};  // labs whose questions were not right at the first try
};

/// Asks question after question: the learner answers by number, has a second try after a hint, and
/// reads why. Ends with the last question or with the input, says the score and the labs to look at
/// again.
QuizScore run_quiz(const Translations& texts, std::istream& in, std::ostream& out);

}  // namespace vitrine::labs
