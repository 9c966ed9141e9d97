#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "vitrine/core/mean_std.h"
#include "vitrine/core/task.h"

namespace vitrine::addition {

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
std::vector<int> errors(const AdditionAnswers& answers);

/// Mean and standard deviation of the errors over all pairs, which are the whole population.
MeanStd error_stats(const AdditionAnswers& answers);

/// How many of the 10,000 sums are right.
int64_t right_answers(const AdditionAnswers& answers);

/// An error other than 0 and how often it occurs.
struct ErrorCount {
  int value = 0;
  int64_t count = 0;
  double fraction = 0;  // of all wrong answers
};

/// The most frequent errors over all given answers, at most `most`; none if nothing is wrong.
std::vector<ErrorCount> top_errors(const std::vector<AdditionAnswers>& answers, size_t most);

/// Three accuracies of the answers of one network.
using Accuracies = std::array<double, 3>;
/// Among the pairs with 0, 1 and 2 carries.
Accuracies accuracy_by_carries(const AdditionAnswers& answers);
/// Of the hundreds, tens and units.
Accuracies accuracy_by_digit(const AdditionAnswers& answers);

/// What `accuracy` leaves to 1, in %: mean and standard deviation over the runs of each of the
/// three.
std::array<MeanStd, 3> wrong_percent(const std::vector<AdditionAnswers>& runs,
                                     Accuracies (*accuracy)(const AdditionAnswers&));

}  // namespace vitrine::addition
