#include "vitrine/serve/engine/batch_queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <numeric>

namespace vitrine::serve {
namespace {

using namespace std::chrono_literals;

std::vector<float> doubled(std::span<const float> inputs, int64_t /*rows*/) {
  std::vector<float> outputs(inputs.begin(), inputs.end());
  for (auto& value : outputs) value *= 2;
  return outputs;
}

void ignore(int64_t) {}

/// Keeps a queue's thread busy until it is opened.
class Barrier {
 public:
  void open() { opened_.set_value(); }
  /// Occupies the thread; returns when it is occupied.
  std::future<int> occupy(BatchQueue& queue) {
    auto busy = std::async(std::launch::async, [&] {
      return queue.run(
          [this] {
            begun_.set_value();
            opened_.get_future().wait();
            return 7;
          },
          kNoDeadline);
    });
    begun_.get_future().wait();
    return busy;
  }

 private:
  std::promise<void> begun_, opened_;
};

void wait_until_waiting(const BatchQueue& queue, int64_t count) {
  while (queue.waiting() < count) std::this_thread::sleep_for(1ms);
}

}  // namespace

TEST(BatchQueue, JoinsWaitingExamplesAndGivesEachItsOwnAnswer) {
  std::vector<int64_t> batches;
  BatchQueue queue({.queue = 16, .max_batch = 4, .max_delay = 0}, doubled,
                   [&](int64_t rows) { batches.push_back(rows); });
  Barrier barrier;
  auto busy = barrier.occupy(queue);
  std::vector<std::future<std::vector<float>>> answers;
  for (int i = 0; i < 6; ++i) {
    answers.push_back(std::async(std::launch::async, [&queue, i] {
      return queue.infer({float(i), float(10 * i)}, 1, kNoDeadline);
    }));
    wait_until_waiting(queue, i + 1);
  }
  barrier.open();
  for (int i = 0; i < 6; ++i) EXPECT_EQ(answers[i].get(), (std::vector<float>{2.F * i, 20.F * i}));
  EXPECT_EQ(busy.get(), 7);
  EXPECT_EQ(batches, (std::vector<int64_t>{4, 2}));
}

TEST(BatchQueue, CutsARequestOfManyExamplesIntoBatches) {
  std::vector<int64_t> batches;
  BatchQueue queue({.queue = 16, .max_batch = 4, .max_delay = 0}, doubled,
                   [&](int64_t rows) { batches.push_back(rows); });
  std::vector<float> inputs(10);
  std::iota(inputs.begin(), inputs.end(), 0.F);
  EXPECT_EQ(queue.infer(inputs, 10, kNoDeadline), doubled(inputs, 10));
  EXPECT_EQ(batches, (std::vector<int64_t>{4, 4, 2}));
}

TEST(BatchQueue, WaitsForOthersToFillABatch) {
  std::vector<int64_t> batches;
  BatchQueue queue({.queue = 4, .max_batch = 2, .max_delay = 1e7}, doubled,
                   [&](int64_t rows) { batches.push_back(rows); });
  auto other = std::async(std::launch::async, [&] { return queue.infer({1}, 1, kNoDeadline); });
  EXPECT_EQ(queue.infer({3}, 1, kNoDeadline), std::vector<float>{6});
  EXPECT_EQ(other.get(), std::vector<float>{2});
  EXPECT_EQ(batches, std::vector<int64_t>{2});
}

TEST(BatchQueue, WaitsForOthersAsLongAsTold) {
  BatchQueue queue({.queue = 4, .max_batch = 4, .max_delay = 30}, doubled, ignore);
  const auto begin = Clock::now();
  queue.infer({1}, 1, kNoDeadline);
  EXPECT_GE(Clock::now() - begin, 30ms);
}

TEST(BatchQueue, RefusesWhatDoesNotFit) {
  BatchQueue queue({.queue = 2, .max_batch = 4, .max_delay = 0}, doubled, ignore);
  Barrier barrier;
  auto busy = barrier.occupy(queue);
  std::vector<std::future<std::vector<float>>> answers;
  for (int i = 0; i < 2; ++i) {
    answers.push_back(
        std::async(std::launch::async, [&] { return queue.infer({1}, 1, kNoDeadline); }));
    wait_until_waiting(queue, i + 1);
  }
  EXPECT_THROW(queue.infer({1}, 1, kNoDeadline), QueueFull);
  barrier.open();
  for (auto& answer : answers) EXPECT_EQ(answer.get(), std::vector<float>{2});
}

TEST(BatchQueue, KeepsAPlaceForARequestThatIsStillDecoded) {
  BatchQueue queue({.queue = 1, .max_batch = 4, .max_delay = 0}, doubled, ignore);
  auto place = queue.reserve();
  EXPECT_THROW(queue.reserve(), QueueFull);
  EXPECT_EQ(queue.run([] { return 7; }, kNoDeadline), 7);  // other work has places of its own
  EXPECT_EQ(queue.infer(std::move(place), {1}, 1, kNoDeadline), std::vector<float>{2});
  queue.reserve();  // one that is not used is free again
  EXPECT_EQ(queue.infer({3}, 1, kNoDeadline), std::vector<float>{6});
}

TEST(BatchQueue, AnswersAtTheDeadlineAndNeverComputesWhatCameTooLate) {
  std::atomic<int> computed = 0;
  BatchQueue queue({.queue = 4, .max_batch = 4, .max_delay = 0}, doubled,
                   [&](int64_t rows) { computed += static_cast<int>(rows); });
  Barrier barrier;
  auto busy = barrier.occupy(queue);
  EXPECT_THROW(queue.infer({1}, 1, Clock::now() + 20ms), DeadlinePassed);
  barrier.open();
  busy.get();
  queue.infer({1}, 1, kNoDeadline);
  EXPECT_EQ(computed, 1);
}

TEST(BatchQueue, TakesTurnsBetweenLongJobs) {
  std::string order;
  {
    BatchQueue queue({.max_batch = 4, .max_delay = 0, .jobs = 2}, doubled, ignore);
    Barrier barrier;
    auto busy = barrier.occupy(queue);
    for (const char name : {'a', 'b'})
      queue.take_turns([&order, name, left = 3]() mutable {
        order += name;
        return --left > 0;
      });
    EXPECT_EQ(queue.waiting(), 2);
    EXPECT_THROW(queue.take_turns([] { return false; }), QueueFull);
    barrier.open();
    busy.get();
  }  // the destructor finishes them
  EXPECT_EQ(order, "ababab");
}

TEST(BatchQueue, DoesOtherWorkBetweenTurnsWhichFillNoQueue) {
  std::atomic<bool> stop = false;
  std::promise<void> begun;
  BatchQueue queue({.queue = 1, .max_batch = 4, .max_delay = 0, .jobs = 1}, doubled, ignore);
  queue.take_turns([&, turns = 0]() mutable {
    if (++turns == 2) begun.set_value();
    return !stop;
  });
  begun.get_future().wait();
  EXPECT_EQ(queue.infer({1}, 1, kNoDeadline), std::vector<float>{2});
  EXPECT_EQ(queue.waiting(), 0);
  stop = true;
}

TEST(BatchQueue, HandsErrorsToThoseWhoAskedAndGoesOn) {
  std::atomic<bool> broken = true;
  BatchQueue queue(
      {},
      [&](std::span<const float> inputs, int64_t rows) {
        check(!broken, "broken");
        return doubled(inputs, rows);
      },
      ignore);
  EXPECT_THROW(queue.infer({1}, 1, kNoDeadline), Error);
  broken = false;
  EXPECT_EQ(queue.infer({1}, 1, kNoDeadline), std::vector<float>{2});
  EXPECT_THROW(queue.run([]() -> int { fail("no"); }, kNoDeadline), Error);
}

TEST(BatchQueue, HoldsNothingOfAJobThatIsDone) {
  BatchQueue queue({}, doubled, ignore);
  auto image = std::make_shared<int>(7);
  const std::weak_ptr<int> watched = image;
  EXPECT_EQ(queue.run([held = std::move(image)] { return *held; }, kNoDeadline), 7);
  for (int i = 0; i < 60000 && !watched.expired(); ++i) std::this_thread::sleep_for(1ms);
  EXPECT_TRUE(watched.expired());
}

TEST(BatchQueue, FinishesWhatWasAcceptedBeforeItEnds) {
  std::vector<std::future<std::vector<float>>> answers;
  Barrier barrier;
  std::future<int> busy;
  std::thread opener;
  {
    BatchQueue queue({.queue = 8, .max_batch = 2, .max_delay = 1000}, doubled, ignore);
    busy = barrier.occupy(queue);
    for (int i = 0; i < 5; ++i) {
      answers.push_back(
          std::async(std::launch::async, [&] { return queue.infer({1}, 1, kNoDeadline); }));
      wait_until_waiting(queue, i + 1);
    }
    opener = std::thread([&] {
      std::this_thread::sleep_for(20ms);
      barrier.open();
    });
  }
  opener.join();
  for (auto& answer : answers) EXPECT_EQ(answer.get(), std::vector<float>{2});
}

}  // namespace vitrine::serve
