#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "vitrine/core/task.h"

namespace vitrine {

/// What one trained network answers for every pair.
struct AdditionAnswers {
  std::string name{};       // of the network, for messages
  std::vector<int> sums{};  // the predicted sums, 0 .. 999, by index of the pair
};

/// The true sum of the pair with this index.
constexpr int true_sum(int pair) { return pair / 100 + pair % 100; }

/// How many digits of the sum need a carry: 0, 1 or 2 (from the units, from the tens).
int carries(int pair);

/// Predicted minus true sum of every pair; throws unless there is a sum 0 .. 999 for each.
std::vector<int> deviations(const AdditionAnswers& answers);

/// Mean and standard deviation of the deviations over all pairs.
struct ErrorStats {
  double mean = 0, std = 0;
};
ErrorStats deviation_spread(const AdditionAnswers& answers);

/// How many of the 10,000 sums are right.
int64_t right_answers(const AdditionAnswers& answers);

/// A deviation other than 0 and how often it occurs.
struct DeviationCount {
  int value = 0;
  int64_t count = 0;
  double share = 0;  // of all wrong answers
};

/// The most frequent deviations over all given answers, at most `most`; none if nothing is wrong.
std::vector<DeviationCount> top_deviations(const std::vector<AdditionAnswers>& answers,
                                           size_t most);

/// The share of right answers among the pairs with 0, 1 and 2 carries.
std::array<double, 3> accuracy_by_carries(const AdditionAnswers& answers);

/// The share of right digits at the places of the hundreds, tens and units.
std::array<double, 3> accuracy_by_digit(const AdditionAnswers& answers);

/// The share of right answers among some pairs, such as those held out from training.
double accuracy_over(const AdditionAnswers& answers, const std::vector<int>& pairs);

}  // namespace vitrine
