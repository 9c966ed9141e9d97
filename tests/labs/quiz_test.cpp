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
std::string right_answers(const Translations& texts) {
  std::string typed;
  for (const auto& q : quiz_questions(texts)) typed += line_of(q.answer);
  return typed;
}

struct Held {
  QuizScore score;
  std::string text;
};

Held hold(const Translations& texts, const std::string& typed) {
  std::istringstream in(typed);
  std::ostringstream out;
  const auto score = run_quiz(texts, in, out);
  return {score, out.str()};
}

}  // namespace

TEST(Quiz, EveryQuestionHasAnAnswerAndALabInEveryLanguage) {
  const auto english = quiz_questions(Translations(lab_texts(), "en"));
  EXPECT_GE(english.size(), 12u);
  std::set<std::string> asked;
  for (const auto& q : english) asked.insert(q.lab);
  EXPECT_EQ(asked.size(), labs().names().size());
  for (const auto& language : lab_texts().languages()) {
    const auto questions = quiz_questions(Translations(lab_texts(), language));
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
  for (const auto& language : lab_texts().languages()) {
    const Translations texts(lab_texts(), language);
    const auto held = hold(texts, right_answers(texts));
    const auto total = std::ssize(quiz_questions(texts));
    EXPECT_EQ(held.score.answered, total);
    EXPECT_EQ(held.score.right, total);
    EXPECT_EQ(held.score.with_hint, 0);
    EXPECT_TRUE(held.score.again.empty());
    EXPECT_EQ(held.text.find('{'), std::string::npos);
    EXPECT_EQ(held.text.find("vitrine lab"), std::string::npos);
  }
}

TEST(Quiz, AWrongAnswerGivesAHintASecondTryAndTheLab) {
  const Translations texts(lab_texts(), "en");
  const auto questions = quiz_questions(texts);
  const auto& first = questions.front();
  const auto held = hold(texts, line_of(wrong_answer(first)) + right_answers(texts));
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
  const Translations texts(lab_texts(), "en");
  const auto first = quiz_questions(texts).front();
  const auto wrong = line_of(wrong_answer(first));
  const auto held = hold(texts, wrong + wrong);
  EXPECT_EQ(held.score.answered, 1);
  EXPECT_EQ(held.score.right + held.score.with_hint, 0);
  EXPECT_TRUE(test::contains(held.text, fmt::format("The right answer is {}: ", first.answer)));
}

TEST(Quiz, WhatIsNoChoiceIsAskedAgain) {
  const Translations texts(lab_texts(), "en");
  for (const std::string nonsense : {"", "0", "5", "-1", "two", "2x", "99999999999999999999"}) {
    const auto held = hold(texts, nonsense + "\n" + right_answers(texts));
    EXPECT_EQ(held.score.right, std::ssize(quiz_questions(texts))) << nonsense;
    EXPECT_TRUE(test::contains(held.text, "Please type a number from 1 to 4")) << nonsense;
  }
  EXPECT_EQ(hold(texts, " 2 \r\n").score.answered, 1);
}

TEST(Quiz, EndsPolitelyWithTheInput) {
  for (const auto& language : lab_texts().languages()) {
    const Translations texts(lab_texts(), language);
    const auto questions = quiz_questions(texts);
    EXPECT_EQ(hold(texts, "").score.answered, 0);
    const auto held =
        hold(texts, line_of(questions[0].answer) + line_of(wrong_answer(questions[1])));
    EXPECT_EQ(held.score.answered, 1);
    EXPECT_EQ(held.score.right, 1);
    EXPECT_TRUE(test::contains(held.text, texts.at("frame.quiz.ended")));
  }
}

}  // namespace vitrine::labs
