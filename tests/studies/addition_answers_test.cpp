#include "vitrine/studies/addition/answers.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/errors.h"

namespace vitrine::addition {
namespace {

AdditionAnswers perfect() {
  AdditionAnswers answers{"perfect", {}};
  for (int pair = 0; pair < kAdditionPairs; ++pair) answers.sums.push_back(true_sum(pair));
  return answers;
}

constexpr int pair_of(int a, int b) { return a * 100 + b; }

/// Forgets the carry from the units to the tens.
AdditionAnswers without_carry() {
  auto answers = perfect();
  for (int pair = 0; pair < kAdditionPairs; ++pair)
    if (pair / 100 % 10 + pair % 10 >= 10) answers.sums[pair] -= 10;
  return answers;
}

}  // namespace

TEST(AdditionAnswers, OfAPerfectNetworkHaveNoError) {
  const auto answers = perfect();
  EXPECT_EQ(right_answers(answers), 10000);
  EXPECT_EQ(error_stats(answers).mean, 0);
  EXPECT_EQ(error_stats(answers).std, 0);
  EXPECT_TRUE(top_errors({answers}, 5).empty());
  for (const double accuracy : accuracy_by_carries(answers)) EXPECT_EQ(accuracy, 1);
  for (const double accuracy : accuracy_by_digit(answers)) EXPECT_EQ(accuracy, 1);
}

TEST(AdditionAnswers, ErrorIsPredictedMinusTrueSum) {
  auto answers = perfect();
  answers.sums[pair_of(57, 68)] = 115;
  answers.sums[pair_of(1, 2)] = 5;
  const auto all = errors(answers);
  EXPECT_EQ(all[pair_of(57, 68)], -10);
  EXPECT_EQ(all[pair_of(1, 2)], 2);
  EXPECT_EQ(all[pair_of(2, 1)], 0);
  EXPECT_EQ(right_answers(answers), 9998);
  EXPECT_NEAR(error_stats(answers).mean, -8 / 1e4, 1e-12);
  EXPECT_NEAR(error_stats(answers).std, std::sqrt(104 / 1e4 - 64 / 1e8), 1e-12);
}

TEST(AdditionAnswers, CountCarriesFromUnitsAndFromTens) {
  EXPECT_EQ(carries(pair_of(12, 34)), 0);
  EXPECT_EQ(carries(pair_of(57, 38)), 1);
  EXPECT_EQ(carries(pair_of(60, 70)), 1);
  EXPECT_EQ(carries(pair_of(57, 68)), 2);
  EXPECT_EQ(carries(pair_of(55, 45)), 2);  // the carry from the units makes the one from the tens
  EXPECT_EQ(carries(pair_of(0, 0)), 0);
  EXPECT_EQ(carries(pair_of(99, 99)), 2);
}

TEST(AdditionAnswers, ALostCarryShowsAsMinusTen) {
  const auto answers = without_carry();
  const auto top = top_errors({answers}, 5);
  ASSERT_EQ(top.size(), 1);
  EXPECT_EQ(top[0].value, -10);
  EXPECT_EQ(top[0].count, 4500);  // 45 of 100 pairs of units make 10 or more
  EXPECT_EQ(top[0].fraction, 1);
  const auto by_carries = accuracy_by_carries(answers);
  EXPECT_EQ(by_carries[0], 1);
  EXPECT_LT(by_carries[1], 1);
  EXPECT_EQ(by_carries[2], 0);
}

TEST(AdditionAnswers, AWrongAnswerMayHaveSeveralWrongDigits) {
  const auto by_digit = accuracy_by_digit(without_carry());
  // 4,500 lost carries change the tens; of them, those with a sum of 100 .. 109 the hundreds too.
  int crossing = 0;
  for (int pair = 0; pair < kAdditionPairs; ++pair)
    crossing += pair / 100 % 10 + pair % 10 >= 10 && true_sum(pair) / 10 == 10;
  EXPECT_NEAR(by_digit[0], 1 - crossing / 1e4, 1e-12);
  EXPECT_NEAR(by_digit[1], 0.55, 1e-12);
  EXPECT_EQ(by_digit[2], 1);
}

TEST(AdditionAnswers, TopErrorsComeByCountOverAllRuns) {
  auto one = perfect(), other = perfect();
  for (int pair = 0; pair < 30; ++pair) one.sums[pair] += 90;
  for (int pair = 0; pair < 20; ++pair) other.sums[pair] += 10;
  for (int pair = 20; pair < 40; ++pair) one.sums[pair] = true_sum(pair) + 10;
  const auto top = top_errors({one, other}, 2);
  ASSERT_EQ(top.size(), 2);
  EXPECT_EQ(top[0].value, 10);
  EXPECT_EQ(top[0].count, 40);
  EXPECT_NEAR(top[0].fraction, 40.0 / 60, 1e-12);
  EXPECT_EQ(top[1].value, 90);
  EXPECT_EQ(top[1].count, 20);
  EXPECT_EQ(top_errors({one, other}, 1).size(), 1);
}

TEST(AdditionAnswers, RefuseWhatIsNotOneSumPerPair) {
  auto answers = perfect();
  answers.sums[pair_of(12, 30)] = 1000;
  EXPECT_TRUE(test::contains(test::error_of([&] { errors(answers); }),
                             "'perfect' answers 1000 to 12 + 30"));
  answers.sums.pop_back();
  EXPECT_TRUE(
      test::contains(test::error_of([&] { errors(answers); }), "9999 sums for 10000 pairs"));
}

}  // namespace vitrine::addition
