#include "vitrine/studies/addition/answers.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <numeric>

#include "vitrine/core/error.h"

namespace vitrine {
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

std::vector<int> deviations(const AdditionAnswers& answers) {
  check_answers(answers);
  std::vector<int> result(answers.sums);
  for (int pair = 0; pair < kAdditionPairs; ++pair) result[pair] -= true_sum(pair);
  return result;
}

ErrorStats deviation_spread(const AdditionAnswers& answers) {
  const auto all = deviations(answers);
  const double mean = std::accumulate(all.begin(), all.end(), 0.0) / kAdditionPairs;
  double squares = 0;
  for (const int deviation : all) squares += (deviation - mean) * (deviation - mean);
  return {mean, std::sqrt(squares / kAdditionPairs)};
}

int64_t right_answers(const AdditionAnswers& answers) {
  const auto all = deviations(answers);
  return std::count(all.begin(), all.end(), 0);
}

std::vector<DeviationCount> top_deviations(const std::vector<AdditionAnswers>& answers,
                                           size_t most) {
  std::map<int, int64_t> counts;
  int64_t wrong = 0;
  for (const auto& some : answers)
    for (const int deviation : deviations(some))
      if (deviation != 0) ++counts[deviation], ++wrong;
  std::vector<DeviationCount> result;
  for (const auto& [value, count] : counts)
    result.push_back({value, count, static_cast<double>(count) / static_cast<double>(wrong)});
  std::stable_sort(result.begin(), result.end(), [](const auto& one, const auto& other) {
    return one.count != other.count ? one.count > other.count
                                    : std::abs(one.value) < std::abs(other.value);
  });
  result.resize(std::min(result.size(), most));
  return result;
}

std::array<double, 3> accuracy_by_carries(const AdditionAnswers& answers) {
  std::array<std::vector<int>, 3> pairs;
  for (int pair = 0; pair < kAdditionPairs; ++pair) pairs[carries(pair)].push_back(pair);
  return {accuracy_over(answers, pairs[0]), accuracy_over(answers, pairs[1]),
          accuracy_over(answers, pairs[2])};
}

std::array<double, 3> accuracy_by_digit(const AdditionAnswers& answers) {
  check_answers(answers);
  std::array<int, 3> right{};
  for (int pair = 0; pair < kAdditionPairs; ++pair)
    for (int place = 0, unit = 100; place < 3; ++place, unit /= 10)
      right[place] += answers.sums[pair] / unit % 10 == true_sum(pair) / unit % 10;
  constexpr double kAll = kAdditionPairs;
  return {right[0] / kAll, right[1] / kAll, right[2] / kAll};
}

double accuracy_over(const AdditionAnswers& answers, const std::vector<int>& pairs) {
  check_answers(answers);
  check(!pairs.empty(), "addition: no pairs to score '{}' on", answers.name);
  int64_t right = 0;
  for (const int pair : pairs) {
    check(pair >= 0 && pair < kAdditionPairs, "addition: pair {} is not one of the {} pairs", pair,
          kAdditionPairs);
    right += answers.sums[pair] == true_sum(pair);
  }
  return static_cast<double>(right) / static_cast<double>(pairs.size());
}

}  // namespace vitrine
