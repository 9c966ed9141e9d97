#include "vitrine/data/parts.h"

#include <algorithm>

#include "vitrine/core/error.h"
#include "vitrine/core/random.h"
#include "vitrine/data/registry.h"

namespace vitrine {
namespace {

constexpr uint64_t kSplitKey = 0x73706c6974;  // apart from the keys of examples and epochs

using Data = std::shared_ptr<const Dataset>;

/// The training part, cut in three where the data set has no other parts.
Parts cut(const DataConfig& config, uint64_t seed, bool has_validation, bool has_test) {
  const Data whole = datasets().get(config.dataset).open(config, Part::Train);
  const auto order = permutation(whole->size(), Random{seed, kSplitKey});
  const auto share = static_cast<int64_t>(config.validation * static_cast<double>(whole->size()));
  const int64_t kept_back = share * (static_cast<int64_t>(!has_test) + !has_validation);
  check(kept_back < whole->size(), "data: validation {} of {} pictures leaves none to train on",
        config.validation, whole->size());
  auto next = order.begin();
  const auto take = [&](int64_t count) -> Data {
    const std::vector<int64_t> indices(next, next + count);
    next += count;
    return std::make_shared<Subset>(whole, indices);
  };
  Parts parts;
  if (!has_test) parts.test = take(share);
  if (!has_validation) parts.validation = take(share);
  const auto rest = static_cast<int64_t>(order.end() - next);
  parts.train = take(config.limit > 0 ? std::min(config.limit, rest) : rest);
  return parts;
}

}  // namespace

Parts open_parts(const DataConfig& config, uint64_t seed) {
  config.validate();
  const auto& entry = datasets().get(config.dataset);
  check(entry.open != nullptr, "data: '{}' does not consist of pictures ({})", config.dataset,
        entry.summary);
  const Data validation = entry.open(config, Part::Validation),
             test = entry.open(config, Part::Test);
  auto parts = cut(config, seed, validation != nullptr, test != nullptr);
  if (validation) parts.validation = validation;
  if (test) parts.test = test;
  if (parts.validation->size() == 0) parts.validation = parts.test;
  check(parts.test->size() > 0,
        "data: '{}' has no test pictures; set data.validation to keep a share back",
        config.dataset);
  return parts;
}

Data open_part(const DataConfig& config, uint64_t seed, Part part) {
  const auto& open = datasets().get(config.dataset).open;
  if (part == Part::Test && open)
    if (const Data test = open(config, part)) return test;
  return open_parts(config, seed).get(part);
}

}  // namespace vitrine
