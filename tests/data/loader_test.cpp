#include "vitrine/data/loader.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <iostream>
#include <thread>

#include "tests/support/errors.h"
#include "vitrine/core/error.h"

namespace vitrine {
namespace {

/// Inputs are the indices themselves; targets tell the epoch.
class Counting : public BatchSource {
 public:
  explicit Counting(int64_t size, int64_t broken = -1) : size_(size), broken_(broken) {}
  int64_t size() const override { return size_; }
  Batch load(const std::vector<int64_t>& indices, int64_t epoch) const override {
    // Later steps are quicker, so that workers finish out of order.
    ++loads;
    std::this_thread::sleep_for(std::chrono::microseconds(indices[0] % 3 == 0 ? 2000 : 10));
    for (const auto index : indices) check(index != broken_, "counting: {} is broken", index);
    const auto B = static_cast<int64_t>(indices.size());
    return {torch::tensor(indices).reshape({B, 1}), torch::full({B}, epoch)};
  }

  mutable std::atomic<int64_t> loads = 0;

 private:
  int64_t size_, broken_;
};

std::vector<std::vector<int64_t>> all(const BatchSource& source, const LoaderOptions& options) {
  Loader loader(source, options);
  std::vector<std::vector<int64_t>> batches;
  while (auto batch = loader.next()) {
    const auto* data = batch->inputs.data_ptr<int64_t>();
    batches.emplace_back(data, data + batch->size());
  }
  return batches;
}

}  // namespace

TEST(Loader, GivesTheSameBatchesForAnyNumberOfWorkers) {
  const Counting source(103);
  const LoaderOptions one{.batch = 4, .shuffle = true, .seed = 3, .epoch = 2};
  auto three = one;
  three.workers = 3;
  three.ahead = 7;
  const auto expected = all(source, one);
  EXPECT_EQ(expected.size(), 26);
  EXPECT_EQ(all(source, three), expected);
}

TEST(Loader, KeepsTheOrderWithoutShuffleAndEndsWithAShortBatch) {
  const std::vector<std::vector<int64_t>> expected = {{0, 1, 2}, {3, 4, 5}, {6}};
  EXPECT_EQ(all(Counting(7), {.batch = 3}), expected);
}

TEST(Loader, SkippingTheFirstStepsGivesTheTail) {
  const Counting source(40);
  LoaderOptions options{.batch = 4, .shuffle = true, .seed = 1, .epoch = 0, .workers = 2};
  auto whole = all(source, options);
  options.first_step = 6;
  whole.erase(whole.begin(), whole.begin() + 6);
  EXPECT_EQ(all(source, options), whole);
  EXPECT_EQ(whole.size(), 4);
}

TEST(Loader, ShufflesAnewEachEpochButReproducibly) {
  const Counting source(64);
  const LoaderOptions first{.batch = 64, .shuffle = true, .seed = 5, .epoch = 0};
  auto second = first;
  second.epoch = 1;
  EXPECT_EQ(all(source, first), all(source, first));
  EXPECT_NE(all(source, first), all(source, second));
  auto sorted = all(source, second)[0];
  std::sort(sorted.begin(), sorted.end());
  EXPECT_EQ(sorted, all(source, {.batch = 64})[0]);
}

TEST(Loader, PassesTheEpochOn) {
  const Counting source(4);
  Loader loader(source, {.batch = 4, .epoch = 9});
  EXPECT_EQ(loader.next()->targets[0].item<int64_t>(), 9);
  EXPECT_FALSE(loader.next());
  EXPECT_FALSE(loader.next());
}

TEST(Loader, RethrowsWhatAWorkerThrewInItsTurn) {
  const Counting source(40, /*broken=*/21);
  Loader loader(source, {.batch = 4, .workers = 3, .ahead = 8});
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(loader.next());
  EXPECT_TRUE(test::contains(test::error_of([&] { loader.next(); }), "21 is broken"));
}

TEST(Loader, LoadsNoMoreThanItsQueueWhenItEndsInTheMiddleOfAnEpoch) {
  const Counting source(1000000);
  {
    Loader loader(source, {.batch = 2, .workers = 3, .ahead = 4});
    EXPECT_TRUE(loader.next());
  }
  // The one that was taken, those ahead of it, and one in the hands of each worker.
  EXPECT_LE(source.loads, 1 + 4 + 3);
}

TEST(Loader, MeasuresTheTimeItWaited) {
  const Counting source(30);
  double waited = 0;
  // On a busy machine the batches may be there before they are asked for, but not always.
  for (int epoch = 0; epoch < 1000 && waited <= 0.010; ++epoch) {
    Loader loader(source, {.batch = 3, .workers = 1, .ahead = 1});
    while (loader.next()) {
    }
    waited += loader.seconds_waited();
  }
  EXPECT_GT(waited, 0.010);
}

TEST(Loader, SaysHowManyWorkersCannotBeStarted) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  constexpr int kRefused = 3;
  const auto start_too_many = [] {
    int64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    const auto most = static_cast<rlim_t>(pages * ::sysconf(_SC_PAGESIZE)) + (512u << 20);
    const rlimit limit{most, most};  // room for some stacks
    ::setrlimit(RLIMIT_AS, &limit);
    try {
      Loader(Counting(1000000), {.batch = 1, .workers = 5000});
    } catch (const Error& e) {
      std::cerr << e.what() << std::endl;
      ::_exit(kRefused);
    }
    ::_exit(0);
  };
  EXPECT_EXIT(start_too_many(), testing::ExitedWithCode(kRefused),
              "cannot start 5000 workers: .*; choose fewer \\(data.workers\\)");
}

TEST(Loader, RefusesABatchOfNothing) {
  EXPECT_TRUE(test::contains(test::error_of([] { Loader(Counting(3), {.batch = 0}); }), "batch 0"));
}

}  // namespace vitrine
