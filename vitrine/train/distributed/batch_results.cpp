#include "vitrine/train/distributed/batch_results.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <sstream>

namespace vitrine {
namespace {

// A rank sends: whether it was interrupted, how many numbers it says and those, how many sums a
// batch has, then its batches: step, loss, targets, examples, sums.
std::vector<double> packed(const std::vector<BatchResult>& batches, bool interrupted,
                           const std::vector<double>& say) {
  std::vector<double> numbers = {interrupted ? 1.0 : 0.0, static_cast<double>(say.size())};
  numbers.insert(numbers.end(), say.begin(), say.end());
  numbers.push_back(batches.empty() ? 0.0 : static_cast<double>(batches[0].sums.size()));
  for (const auto& b : batches) {
    numbers.insert(numbers.end(),
                   {static_cast<double>(b.step), b.loss, static_cast<double>(b.targets),
                    static_cast<double>(b.examples)});
    for (const auto& [name, value] : b.sums) numbers.push_back(value);
  }
  return numbers;
}

void unpack(const std::vector<double>& numbers, GatheredResults& all, bool leads) {
  auto at = numbers.begin();
  const auto next = [&] { return *at++; };
  const auto count = [&] { return static_cast<int64_t>(next()); };
  all.interrupted |= next() != 0;
  const auto said = count();
  if (leads) all.leader.assign(at, at + said);
  at += said;
  const auto sums = count();
  while (at != numbers.end()) {
    BatchResult b{.step = count(), .loss = next(), .targets = count(), .examples = count()};
    for (int64_t i = 0; i < sums; ++i) b.sums.emplace_back("", next());
    all.batches.push_back(std::move(b));
  }
}

std::vector<std::string> names_of(const std::vector<BatchResult>& batches) {
  std::vector<std::string> names;
  if (!batches.empty())
    for (const auto& [name, value] : batches[0].sums) names.push_back(name);
  return names;
}

}  // namespace

GatheredResults gather_results(const WorkerGroup& group, std::vector<BatchResult> mine,
                               bool interrupted, const std::vector<double>& say) {
  if (group.size() == 1) return {std::move(mine), say, interrupted};
  GatheredResults all;
  const auto lists = group.gather(packed(mine, interrupted, say));
  bool each_has_some = true;
  for (size_t rank = 0; rank < lists.size(); ++rank) {
    const auto before = all.batches.size();
    unpack(lists[rank], all, /*leads=*/rank == 0);
    each_has_some = each_has_some && all.batches.size() > before;
  }
  auto names = names_of(mine);
  if (!each_has_some) {  // rank 0 has the first batch
    std::istringstream words(group.from_leader(fmt::format("{}", fmt::join(names, " "))));
    names.assign(std::istream_iterator<std::string>(words), {});
  }
  for (auto& b : all.batches)
    for (size_t i = 0; i < b.sums.size(); ++i) b.sums[i].first = names.at(i);
  std::ranges::sort(all.batches, {}, &BatchResult::step);
  return all;
}

}  // namespace vitrine
