#include "vitrine/data/addition.h"

#include <numeric>

#include "vitrine/core/error.h"
#include "vitrine/core/random.h"
#include "vitrine/core/task.h"
#include "vitrine/data/config.h"
#include "vitrine/data/tensor_batches.h"

namespace vitrine {
namespace {

constexpr uint64_t kSplitKey = 0x616464;  // apart from the keys of examples and epochs

torch::Tensor table(int64_t columns, int64_t (*digit)(int64_t a, int64_t b, int64_t column)) {
  auto result = torch::empty({kAdditionPairs, columns}, torch::kLong);
  auto* out = result.data_ptr<int64_t>();
  for (int64_t a = 0; a < 100; ++a)
    for (int64_t b = 0; b < 100; ++b)
      for (int64_t column = 0; column < columns; ++column) *out++ = digit(a, b, column);
  return result;
}

/// Some of the pairs.
std::unique_ptr<BatchSource> batches_of(const std::vector<int64_t>& pairs) {
  const auto chosen = torch::tensor(pairs);
  const auto digits = table(4, [](int64_t a, int64_t b, int64_t place) {
    const int64_t number = place < 2 ? a : b;
    return place % 2 == 0 ? number / 10 : number % 10;
  });
  const auto sums = table(3, [](int64_t a, int64_t b, int64_t place) {
    const int64_t sum = a + b;
    return place == 0 ? sum / 100 : place == 1 ? sum / 10 % 10 : sum % 10;
  });
  return std::make_unique<TensorBatches>(digits.index_select(0, chosen),
                                         sums.index_select(0, chosen));
}

/// All pairs in the order that a seed gives: the first ones are held out.
std::vector<int64_t> shuffled_pairs(uint64_t seed) {
  return permutation(kAdditionPairs, Random{seed, kSplitKey});
}

int64_t held_out_count(const DataConfig& config) {
  return static_cast<int64_t>(config.validation * static_cast<double>(kAdditionPairs));
}

Splits addition(const DataConfig& config, uint64_t seed) {
  const auto order = shuffled_pairs(seed);
  const auto first = order.begin() + held_out_count(config);
  auto last = order.end();
  if (config.limit > 0) last = first + std::min<int64_t>(config.limit, last - first);
  std::vector<int64_t> all(kAdditionPairs);
  std::iota(all.begin(), all.end(), 0);
  const std::vector<int64_t> held_out(order.begin(), first);
  Splits splits;
  splits.task = Task::DigitSum;
  splits.train = batches_of({first, last});
  splits.validation = batches_of(held_out.empty() ? all : held_out);
  splits.test = batches_of(all);
  return splits;
}

class AdditionData : public DatasetOf<AdditionData> {
 public:
  Splits splits(const DataConfig& config, uint64_t seed) const override {
    return addition(config, seed);
  }
};

}  // namespace

std::vector<int64_t> held_out_pairs(const DataConfig& config, uint64_t seed) {
  auto order = shuffled_pairs(seed);
  order.resize(held_out_count(config));
  return order;
}

DatasetEntry addition_dataset() {
  return {"all 10,000 sums of two numbers 00 .. 99, digit by digit; nothing to fetch",
          std::make_shared<AdditionData>()};
}

}  // namespace vitrine
