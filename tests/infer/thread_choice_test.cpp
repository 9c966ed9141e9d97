#include "vitrine/infer/thread_choice.h"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <omp.h>

#include <thread>

namespace vitrine {
namespace {

using Threads = ThreadChoice::Threads;

/// A machine on which passes take so many seconds, and a process is interrupted so often.
struct Machine {
  double all, one;
  int64_t interruptions_a_pass;
};

/// How many of so many passes ran on one thread.
int64_t passes_on_one_thread(ThreadChoice& choice, const Machine& machine, int64_t passes) {
  int64_t on_one = 0;
  for (int64_t i = 0; i < passes; ++i) {
    const auto threads = choice.next();
    on_one += threads == Threads::One;
    choice.record(threads, threads == Threads::All ? machine.all : machine.one,
                  threads == Threads::All ? machine.interruptions_a_pass : 0);
  }
  return on_one;
}

constexpr Machine kQuiet{.all = 0.005, .one = 0.01, .interruptions_a_pass = 0};
constexpr Machine kLoaded{.all = 0.015, .one = 0.01, .interruptions_a_pass = 15};

}  // namespace

TEST(ThreadChoice, KeepsAllThreadsOnAQuietMachine) {
  ThreadChoice choice;
  EXPECT_EQ(passes_on_one_thread(choice, kQuiet, 1000), 0);
}

TEST(ThreadChoice, TakesOneWhereThatIsFasterBesideOthers) {
  ThreadChoice choice;
  passes_on_one_thread(choice, kLoaded, 20);
  EXPECT_GT(passes_on_one_thread(choice, kLoaded, 1000), 900);
}

TEST(ThreadChoice, TakesAllAgainOnceTheOthersAreGone) {
  ThreadChoice choice;
  passes_on_one_thread(choice, kLoaded, 100);
  passes_on_one_thread(choice, kQuiet, 200);
  EXPECT_EQ(passes_on_one_thread(choice, kQuiet, 1000), 0);
}

TEST(ThreadChoice, KeepsAllThreadsWhereInterruptionsCostLess) {
  ThreadChoice choice;
  const Machine machine{.all = 0.007, .one = 0.01, .interruptions_a_pass = 15};
  EXPECT_LT(passes_on_one_thread(choice, machine, 1000), 80);
}

TEST(ThreadChoice, KeepsAllThreadsForLongPasses) {
  ThreadChoice choice;
  const Machine machine{.all = 0.8, .one = 0.7, .interruptions_a_pass = 1000};
  EXPECT_EQ(passes_on_one_thread(choice, machine, 1000), 0);
}

TEST(ThreadChoice, IgnoresAPassThatBeganBeforeTheChoiceChanged) {
  ThreadChoice choice;
  for (int i = 0; i < 100; ++i) choice.record(Threads::One, 0.01, 5);
  EXPECT_EQ(choice.next(), Threads::All);
}

TEST(AdaptiveThreads, LeavesTheNumberOfThreadsAsItWas) {
  AdaptiveThreads threads;
  const auto before = omp_get_max_threads();
  EXPECT_EQ(threads.run(3, [] { return 7; }), 7);
  EXPECT_THROW(threads.run(3, []() -> int { throw std::runtime_error("x"); }), std::runtime_error);
  EXPECT_EQ(omp_get_max_threads(), before);
}

TEST(AdaptiveThreads, KeepsTheChosenNumberOnAFreshThread) {
  const auto before = at::get_num_threads();
  at::set_num_threads(1);
  std::vector<int> seen;
  std::thread([&] {
    AdaptiveThreads threads;
    for (int i = 0; i < 2; ++i) threads.run(1, [&] { seen.push_back(at::get_num_threads()); });
  }).join();
  at::set_num_threads(before);
  EXPECT_EQ(seen, (std::vector<int>{1, 1}));
}

}  // namespace vitrine
