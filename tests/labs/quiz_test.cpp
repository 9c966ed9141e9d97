#include "vitrine/labs/quiz.h"

#include <gtest/gtest.h>

#include <sstream>

#include "tests/support/errors.h"
#include "vitrine/labs/lab.h"

namespace vitrine::labs {
namespace {

std::string line_of(int64_t number) { return std::to_string(number) + "\n"; }

int64_t wrong_answer(const Question& q) { return q.answer == 1 ? 2 : 1; }

/// What a learner types who knows everything.
std::string right_answers(const Translations& words) {
  std::string typed;
  for (const auto& q : quiz_questions(words)) typed += line_of(q.answer);
  return typed;
}

struct Held {
  QuizScore score;
  std::string text;
};

Held hold(const Translations& words, const std::string& typed) {
  std::istringstream in(typed);
  std::ostringstream out;
  const auto score = run_quiz(words, in, out);
  return {score, out.str()};
}

}  // namespace

TEST(Quiz, EveryQuestionHasAnAnswerAndALabInEveryLanguage) {
  const auto english = quiz_questions(Translations("en"));
  EXPECT_GE(english.size(), 12u);
  std::set<std::string> asked;
  for (const auto& q : english) asked.insert(q.lab);
  EXPECT_EQ(asked.size(), labs().names().size());
  for (const auto& language : Translations::languages()) {
    const auto questions = quiz_questions(Translations(language));
    ASSERT_EQ(questions.size(), english.size());
    for (size_t i = 0; i < questions.size(); ++i) {
      EXPECT_TRUE(labs().has(questions[i].lab)) << language << " " << i;
      EXPECT_EQ(questions[i].answer, english[i].answer) << language << " " << i;
      EXPECT_EQ(questions[i].lab, english[i].lab) << language << " " << i;
      EXPECT_EQ(questions[i].choices.size(), english[i].choices.size()) << language << " " << i;
    }
  }
}

TEST(Quiz, ALearnerWhoKnowsAllIsTold) {
  for (const auto& language : Translations::languages()) {
    const Translations words(language);
    const auto held = hold(words, right_answers(words));
    const auto total = std::ssize(quiz_questions(words));
    EXPECT_EQ(held.score.answered, total);
    EXPECT_EQ(held.score.right, total);
    EXPECT_EQ(held.score.with_hint, 0);
    EXPECT_TRUE(held.score.again.empty());
    EXPECT_EQ(held.text.find('{'), std::string::npos);
    EXPECT_EQ(held.text.find("vitrine lab"), std::string::npos);
  }
}

TEST(Quiz, AWrongAnswerGivesAHintASecondTryAndTheLab) {
  const Translations words("en");
  const auto questions = quiz_questions(words);
  const auto& first = questions.front();
  const auto held = hold(words, line_of(wrong_answer(first)) + right_answers(words));
  EXPECT_EQ(held.score.answered, std::ssize(questions));
  EXPECT_EQ(held.score.right, std::ssize(questions) - 1);
  EXPECT_EQ(held.score.with_hint, 1);
  EXPECT_EQ(held.score.again, std::set{first.lab});
  EXPECT_TRUE(test::contains(held.text, "Not quite. Hint: " + first.hint.substr(0, 30)));
  EXPECT_TRUE(test::contains(held.text, first.explanation.substr(0, 40)));
  EXPECT_TRUE(test::contains(held.text, "own eyes: vitrine lab " + first.lab));
  EXPECT_TRUE(test::contains(held.text, "\n  vitrine lab " + first.lab + "  "));
}

TEST(Quiz, TwoWrongAnswersGiveTheRightOne) {
  const Translations words("en");
  const auto first = quiz_questions(words).front();
  const auto wrong = line_of(wrong_answer(first));
  const auto held = hold(words, wrong + wrong);
  EXPECT_EQ(held.score.answered, 1);
  EXPECT_EQ(held.score.right + held.score.with_hint, 0);
  EXPECT_TRUE(test::contains(held.text, fmt::format("The right answer is {}: ", first.answer)));
}

TEST(Quiz, WhatIsNoChoiceIsAskedAgain) {
  const Translations words("en");
  for (const std::string nonsense : {"", "0", "5", "-1", "two", "2x", "99999999999999999999"}) {
    const auto held = hold(words, nonsense + "\n" + right_answers(words));
    EXPECT_EQ(held.score.right, std::ssize(quiz_questions(words))) << nonsense;
    EXPECT_TRUE(test::contains(held.text, "Please type a number from 1 to 4")) << nonsense;
  }
  EXPECT_EQ(hold(words, " 2 \r\n").score.answered, 1);
}

TEST(Quiz, EndsPolitelyWithTheInput) {
  for (const auto& language : Translations::languages()) {
    const Translations words(language);
    const auto questions = quiz_questions(words);
    EXPECT_EQ(hold(words, "").score.answered, 0);
    const auto held =
        hold(words, line_of(questions[0].answer) + line_of(wrong_answer(questions[1])));
    EXPECT_EQ(held.score.answered, 1);
    EXPECT_EQ(held.score.right, 1);
    EXPECT_TRUE(test::contains(held.text, words.at("frame.quiz.ended")));
  }
}

}  // namespace vitrine::labs
