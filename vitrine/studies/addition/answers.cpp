#include "vitrine/studies/addition/answers.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <numeric>

#include "vitrine/core/error.h"

namespace vitrine::addition {
namespace {

void check_answers(const AdditionAnswers& answers) {
  check(answers.sums.size() == kAdditionPairs, "addition: '{}' has {} sums for {} pairs",
        answers.name, answers.sums.size(), kAdditionPairs);
  for (int pair = 0; pair < kAdditionPairs; ++pair)
    check(answers.sums[pair] >= 0 && answers.sums[pair] <= 999,
          "addition: '{}' answers {} to {} + {}; a sum has three digits", answers.name,
          answers.sums[pair], pair / 100, pair % 100);
}

}  // namespace

int carries(int pair) {
  const int units = pair / 100 % 10 + pair % 10;
  return (units >= 10) + (true_sum(pair) >= 100);
}

std::vector<int> errors(const AdditionAnswers& answers) {
  check_answers(answers);
  std::vector<int> result(answers.sums);
  for (int pair = 0; pair < kAdditionPairs; ++pair) result[pair] -= true_sum(pair);
  return result;
}

MeanStd error_stats(const AdditionAnswers& answers) {
  const auto all = errors(answers);
  const double mean = std::accumulate(all.begin(), all.end(), 0.0) / kAdditionPairs;
  double squares = 0;
  for (const int error : all) squares += (error - mean) * (error - mean);
  return {mean, std::sqrt(squares / kAdditionPairs), kAdditionPairs};
}

int64_t right_answers(const AdditionAnswers& answers) {
  const auto all = errors(answers);
  return std::count(all.begin(), all.end(), 0);
}

std::vector<ErrorCount> top_errors(const std::vector<AdditionAnswers>& answers, size_t most) {
  std::map<int, int64_t> counts;
  int64_t wrong = 0;
  for (const auto& some : answers)
    for (const int error : errors(some))
      if (error != 0) ++counts[error], ++wrong;
  std::vector<ErrorCount> result;
  for (const auto& [value, count] : counts)
    result.push_back({value, count, static_cast<double>(count) / static_cast<double>(wrong)});
  std::stable_sort(result.begin(), result.end(), [](const auto& one, const auto& other) {
    return one.count != other.count ? one.count > other.count
                                    : std::abs(one.value) < std::abs(other.value);
  });
  result.resize(std::min(result.size(), most));
  return result;
}

Accuracies accuracy_by_carries(const AdditionAnswers& answers) {
  const auto all = errors(answers);
  std::array<int, 3> right{}, pairs{};
  for (int pair = 0; pair < kAdditionPairs; ++pair) {
    right[carries(pair)] += all[pair] == 0;
    ++pairs[carries(pair)];
  }
  return {1.0 * right[0] / pairs[0], 1.0 * right[1] / pairs[1], 1.0 * right[2] / pairs[2]};
}

Accuracies accuracy_by_digit(const AdditionAnswers& answers) {
  check_answers(answers);
  std::array<int, 3> right{};
  for (int pair = 0; pair < kAdditionPairs; ++pair)
    for (int digit = 0, unit = 100; digit < 3; ++digit, unit /= 10)
      right[digit] += answers.sums[pair] / unit % 10 == true_sum(pair) / unit % 10;
  constexpr double kAll = kAdditionPairs;
  return {right[0] / kAll, right[1] / kAll, right[2] / kAll};
}

std::array<MeanStd, 3> wrong_percent(const std::vector<AdditionAnswers>& runs,
                                     Accuracies (*accuracy)(const AdditionAnswers&)) {
  std::array<std::vector<double>, 3> wrong;
  for (const auto& run : runs) {
    const auto right = accuracy(run);
    for (size_t i = 0; i < wrong.size(); ++i) wrong[i].push_back(100 * (1 - right[i]));
  }
  return {mean_std(wrong[0]), mean_std(wrong[1]), mean_std(wrong[2])};
}

}  // namespace vitrine::addition
