#include "vitrine/core/progress.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "tests/support/errors.h"

namespace vitrine {

TEST(Progress, TheEtaIsNoLongerThanTheTimeThatIsLeft) {
  Progress progress("train", 100'000, "examples");
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  progress.update(1);  // at this speed it takes 8 minutes at least
  EXPECT_FALSE(test::contains(progress.text(/*last=*/false), "ETA 3.0 s"));
  progress.set_budget(/*used=*/7, /*budget=*/10);
  EXPECT_TRUE(test::contains(progress.text(/*last=*/false), "ETA 3.0 s"));
}

TEST(Progress, WorkThatItsBudgetEndsShowsTheShareOfTheBudget) {
  Progress progress("train", 100'000, "examples");
  progress.update(500);
  progress.set_budget(/*used=*/7, /*budget=*/10);
  EXPECT_TRUE(test::contains(progress.text(/*last=*/false), "train  70% 500 examples"));
  progress.update(90'000);  // ahead of the budget: the work ends first
  EXPECT_TRUE(test::contains(progress.text(/*last=*/false), "train  90% 90000/100000 examples"));
}

TEST(Progress, NumbersHaveThreeDigitsAndNoPowersOfTen) {
  for (const auto& [value, text] :
       {std::pair(0.01234, "0.0123"), std::pair(4.561, "4.56"), std::pair(231.4, "231"),
        std::pair(2310.4, "2310"), std::pair(0.0, "0.00")})
    EXPECT_EQ(three_digits(value), text);
}

}  // namespace vitrine
