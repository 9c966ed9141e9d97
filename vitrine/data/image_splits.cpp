#include "vitrine/data/image_splits.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>

#include "vitrine/core/error.h"
#include "vitrine/core/random.h"

namespace vitrine {
namespace {

constexpr uint64_t kSplitKey = 0x73706c6974;  // apart from the keys of examples and epochs

using Data = std::shared_ptr<const Dataset>;
using Indices = std::vector<int64_t>;

/// `total` things shared out so that each gets its quota, rounded down or up; the largest
/// remainders are rounded up.
Indices shared_out(const std::vector<double>& quotas, int64_t total) {
  Indices counts(quotas.size()), order(quotas.size());
  const auto rest = [&](int64_t k) { return quotas[k] - static_cast<double>(counts[k]); };
  for (size_t k = 0; k < quotas.size(); ++k)
    counts[k] = static_cast<int64_t>(std::max(0.0, quotas[k]));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return rest(a) > rest(b); });
  auto missing = total - std::accumulate(counts.begin(), counts.end(), int64_t{0});
  for (auto k = order.begin(); k != order.end() && missing > 0; ++k, --missing) ++counts[*k];
  return counts;
}

/// A data set's examples in the order in which splits take them.
class Cut {
 public:
  Cut(Data whole, const DataConfig& config, uint64_t seed)
      : whole_(std::move(whole)),
        stratified_(config.dataset->stratified()),
        fraction_(config.validation),
        order_(permutation(whole_->size(), Random{seed, kSplitKey})),
        sizes_(class_counts(*whole_)),
        taken_(sizes_.size()) {}

  /// The next `count` examples, the same fraction of each class if the data set wants that.
  Data take_fraction(int64_t count) {
    ++taken_splits_;
    if (!stratified_) return take(count);
    // What a class got too little or too much of by rounding is made good in the next split.
    std::vector<double> quotas;
    for (size_t k = 0; k < sizes_.size(); ++k)
      quotas.push_back(static_cast<double>(taken_splits_) * fraction_ *
                           static_cast<double>(sizes_[k]) -
                       static_cast<double>(taken_[k]));
    return take_of_classes(shared_out(quotas, count));
  }

  /// This fraction of the examples that are left, the same of each class. A smaller fraction is
  /// part of a larger one.
  Data take_of_rest(double fraction) {
    std::vector<double> quotas;
    for (size_t k = 0; k < sizes_.size(); ++k)
      quotas.push_back(fraction * static_cast<double>(sizes_[k] - taken_[k]));
    const auto size = static_cast<double>(order_.size());
    return take_of_classes(shared_out(quotas, std::llround(fraction * size)));
  }

  /// The next examples, `count` at most.
  Data take(int64_t count) {
    const auto end = order_.begin() + std::min<int64_t>(count, std::ssize(order_));
    const Indices chosen(order_.begin(), end);
    order_.erase(order_.begin(), end);
    for (const auto index : chosen) ++taken_[whole_->label(index)];
    return std::make_shared<Subset>(whole_, chosen);
  }

 private:
  /// The next examples, `wanted` of each class.
  Data take_of_classes(Indices wanted) {
    const auto is_chosen = [&](int64_t index) {
      const auto label = whole_->label(index);
      if (wanted[label] == 0) return false;
      --wanted[label];
      ++taken_[label];
      return true;
    };
    Indices chosen, rest;
    for (const auto index : order_) (is_chosen(index) ? chosen : rest).push_back(index);
    order_ = std::move(rest);
    return std::make_shared<Subset>(whole_, std::move(chosen));
  }

  Data whole_;
  bool stratified_;
  double fraction_;
  Indices order_;
  Indices sizes_, taken_;  // per class
  int64_t taken_splits_ = 0;
};

/// Says which classes a split cut out of the training examples is without.
void warn_of_small_classes(const Dataset& data, Split which) {
  const auto counts = class_counts(data);
  std::vector<std::string> missing;
  for (size_t k = 0; k < counts.size(); ++k)
    if (counts[k] == 0) missing.push_back(data.classes()[k]);
  if (!missing.empty() && data.size() > 0)
    fmt::print(stderr, "note: too few images to keep one for {}: {}\n", split_name(which),
               fmt::join(missing, ", "));
}

/// "a fraction data.validation=0.1 of 2 images is 0 images for each of 2 splits".
std::string fraction_text(double fraction, int64_t size, int64_t held_out, int64_t splits) {
  return fmt::format("a fraction data.validation={} of {} is {}{}", fraction,
                     counted(size, "image"), counted(held_out, "image"),
                     splits > 1 ? fmt::format(" for each of {} splits", splits) : "");
}

/// How `splits` splits of `size` images come to have at least one image each.
std::string remedy(double fraction, int64_t size, int64_t splits) {
  const double percent = std::ceil(100.0 / static_cast<double>(size) + 1e-9) / 100;
  const auto enough = fraction > 0 ? static_cast<int64_t>(std::ceil(1 / fraction)) : 0;
  const bool possible = splits * static_cast<int64_t>(percent * static_cast<double>(size)) < size;
  std::vector<std::string> ways;
  if (possible) ways.push_back(fmt::format("set data.validation={}", percent));
  if (enough > 0 && splits < enough) ways.push_back(fmt::format("have {} images or more", enough));
  if (ways.empty()) ways.push_back("have 10 images or more with data.validation=0.1");
  return fmt::format("{}", fmt::join(ways, " or "));
}

/// The training set, cut in three where the data set has no other splits.
ImageSplits cut_splits(const DataConfig& config, uint64_t seed, bool has_validation,
                       bool has_test) {
  const Data whole = config.dataset->open(config, Split::Train);
  const auto size = whole->size();
  const auto held_out = static_cast<int64_t>(config.validation * static_cast<double>(size));
  const int64_t missing = static_cast<int64_t>(!has_test) + !has_validation;
  check(held_out * missing < size, "data: {}, which leaves none to train on; lower data.validation",
        fraction_text(config.validation, size, held_out, missing));
  check(has_test || held_out > 0, "data: {}, but '{}' has no {}images of its own; {}",
        fraction_text(config.validation, size, held_out, missing), config.dataset.name(),
        has_validation ? "test " : "validation or test ", remedy(config.validation, size, missing));
  Cut cut(whole, config, seed);
  ImageSplits splits;
  if (!has_test) splits.test = cut.take_fraction(held_out);
  if (!has_validation) splits.validation = cut.take_fraction(held_out);
  splits.train = config.fraction < 1 ? cut.take_of_rest(config.fraction)
                                     : cut.take(config.limit > 0 ? config.limit : size);
  check(splits.train->size() > 0,
        "data: a fraction data.fraction={} of {} leaves none to train on; raise it",
        config.fraction, counted(size - held_out * missing, "image"));
  if (!has_test) warn_of_small_classes(*splits.test, Split::Test);
  if (!has_validation) warn_of_small_classes(*splits.validation, Split::Validation);
  return splits;
}

}  // namespace

ImageSplits open_image_splits(const DataConfig& config, uint64_t seed) {
  config.validate();
  const Data validation = config.dataset->open(config, Split::Validation),
             test = config.dataset->open(config, Split::Test);
  auto splits = cut_splits(config, seed, validation != nullptr, test != nullptr);
  if (validation) splits.validation = validation;
  if (test) splits.test = test;
  if (splits.validation->size() == 0) splits.validation = splits.test;
  return splits;
}

Data open_image_split(const DataConfig& config, uint64_t seed, Split split) {
  if (split == Split::Test)
    if (const Data test = config.dataset->open(config, split)) return test;
  return open_image_splits(config, seed).get(split);
}

}  // namespace vitrine
