#include "vitrine/data/loader.h"

#include <omp.h>

#include <condition_variable>
#include <exception>
#include <map>
#include <mutex>
#include <numeric>
#include <system_error>
#include <thread>

#include "vitrine/core/error.h"
#include "vitrine/core/random.h"
#include "vitrine/core/stopwatch.h"

namespace vitrine {
namespace {

constexpr uint64_t kShuffleKey = 0x6f72646572;  // apart from the keys of augmentation

std::vector<int64_t> epoch_order(int64_t size, const LoaderOptions& o) {
  if (o.shuffle)
    return permutation(size, Random{o.seed, static_cast<uint64_t>(o.epoch), kShuffleKey});
  std::vector<int64_t> order(size);
  std::iota(order.begin(), order.end(), 0);
  return order;
}

}  // namespace

/// Workers claim steps in order, at most `ahead` before the one that is wanted next; a finished
/// step waits in `ready` for its turn.
struct Loader::State {
  struct Result {
    Batch batch;
    std::exception_ptr error;
  };

  State(const BatchSource& s, const LoaderOptions& o)
      : source(s), options(o), order(epoch_order(s.size(), o)) {
    const auto size = static_cast<int64_t>(order.size());
    const auto all = (size + options.batch - 1) / options.batch;
    for (auto step = options.first_step; step < all; ++step)
      if (!options.takes || options.takes(step)) steps.push_back(step);
    try {
      for (int64_t w = 0; w < options.workers; ++w) workers.emplace_back([this] { work(); });
    } catch (const std::system_error& e) {
      stop();
      fail("loader: cannot start {} workers: {}; choose fewer (data.workers)", options.workers,
           e.what());
    }
  }

  ~State() { stop(); }

  /// Ends the workers.
  void stop() {
    {
      const std::lock_guard lock(mutex);
      stopping = true;
    }
    may_claim.notify_all();
    for (auto& worker : workers) worker.join();
    workers.clear();
  }

  void work() {
    omp_set_num_threads(1);  // of this thread only: the cores belong to the model
    const torch::NoGradGuard no_gradients;
    std::unique_lock lock(mutex);
    for (;;) {
      may_claim.wait(lock, [&] { return stopping || claimed < wanted + options.ahead; });
      if (stopping || claimed >= std::ssize(steps)) return;
      const auto turn = claimed++;
      lock.unlock();
      auto result = load(steps[turn]);
      lock.lock();
      ready.emplace(turn, std::move(result));
      has_ready.notify_one();
    }
  }

  Result load(int64_t step) const {
    const auto first = order.begin() + step * options.batch;
    const auto count = std::min<int64_t>(options.batch, order.end() - first);
    try {
      return {source.load({first, first + count}, options.epoch), nullptr};
    } catch (...) {
      return {{}, std::current_exception()};
    }
  }

  const BatchSource& source;
  const LoaderOptions options;
  const std::vector<int64_t> order;
  std::vector<int64_t> steps;  // those that it gives

  std::mutex mutex;
  std::condition_variable may_claim, has_ready;
  std::map<int64_t, Result> ready;
  int64_t claimed = 0, wanted = 0;  // of `steps`
  bool stopping = false;
  double waited = 0;
  std::vector<std::thread> workers;
};

Loader::Loader(const BatchSource& source, const LoaderOptions& o) {
  check(o.batch >= 1, "loader: batch {} is not positive", o.batch);
  check(o.workers >= 1 && o.ahead >= 1, "loader: workers {} and ahead {} must be positive",
        o.workers, o.ahead);
  check(o.first_step >= 0, "loader: first step {} is negative", o.first_step);
  state_ = std::make_unique<State>(source, o);
}

Loader::~Loader() = default;

std::optional<Batch> Loader::next() {
  auto& s = *state_;
  std::unique_lock lock(s.mutex);
  if (s.wanted >= std::ssize(s.steps)) return std::nullopt;
  const Stopwatch watch;
  s.has_ready.wait(lock, [&] { return s.ready.contains(s.wanted); });
  s.waited += watch.seconds();
  auto result = std::move(s.ready.extract(s.wanted++).mapped());
  lock.unlock();
  s.may_claim.notify_one();
  if (result.error) std::rethrow_exception(result.error);
  return std::move(result.batch);
}

const std::vector<int64_t>& Loader::order() const { return state_->order; }

double Loader::seconds_waited() const {
  const std::lock_guard lock(state_->mutex);
  return state_->waited;
}

}  // namespace vitrine
