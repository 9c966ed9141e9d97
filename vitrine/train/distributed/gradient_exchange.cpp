#include "vitrine/train/distributed/gradient_exchange.h"

#include <torch/csrc/autograd/utils/lambda_post_hook.h>
#include <torch/csrc/autograd/variable.h>
#include <torch/torch.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>

#include "vitrine/core/stopwatch.h"

namespace vitrine {

/// Parameters whose gradients travel together. On the CPU, gradients that are complete lie here.
struct GradientBucket {
  std::vector<torch::Tensor> parameters{};
  int64_t numbers = 0;
  int64_t missing = 0;   // gradients that are not complete yet, in this step
  torch::Tensor flat{};  // (numbers), on the CPU

  /// Calls `work(parameter, its place in the bucket)` for all.
  template <typename Work>
  void for_places(const Work& work) {
    int64_t at = 0;
    for (auto& p : parameters) {
      work(p, flat.narrow(0, at, p.numel()).view(p.sizes()));
      at += p.numel();
    }
  }
};

namespace {

constexpr int64_t kBucketNumbers = int64_t{1} << 20;  // 4 MB: sums begin early and calls are few

/// Buckets from the last parameter to the first, as backward passes complete them.
std::vector<GradientBucket> buckets_of(const std::vector<torch::Tensor>& parameters) {
  std::vector<GradientBucket> buckets;
  for (auto p = parameters.rbegin(); p != parameters.rend(); ++p) {
    if (buckets.empty() || buckets.back().numbers >= kBucketNumbers) buckets.emplace_back();
    buckets.back().parameters.push_back(*p);
    buckets.back().numbers += p->numel();
  }
  for (auto& bucket : buckets) bucket.flat = torch::zeros({bucket.numbers});
  return buckets;
}

}  // namespace

/// The thread of the backward pass fills buckets in their order; a thread of its own sums them in
/// that order, so that all ranks make the same calls.
struct GradientExchange::State {
  State(const WorkerGroup& g, const std::vector<torch::Tensor>& parameters)
      : group(g), buckets(buckets_of(parameters)), sender([this] { send(); }) {
    for (auto& bucket : buckets)
      for (const auto& parameter : bucket.parameters) watch(parameter, bucket);
  }

  ~State() {
    {
      const std::lock_guard lock(mutex);
      stopping = true;
    }
    changed.notify_all();
    sender.join();
  }

  /// Counts the parameter's gradient as complete when autograd has added to it.
  void watch(const torch::Tensor& parameter, GradientBucket& bucket) {
    auto node = torch::autograd::impl::grad_accumulator(parameter);
    node->add_post_hook(std::make_unique<torch::autograd::utils::LambdaPostHook>(
        [this, &bucket](const auto& outputs, const auto&) {
          if (active) {
            --bucket.missing;
            fill_complete();
          }
          return outputs;
        }));
    nodes.push_back(std::move(node));  // a parameter does not keep it
  }

  /// Fills and queues all buckets that are complete, in their order.
  void fill_complete() {
    while (filled < buckets.size() && buckets[filled].missing <= 0) fill_next();
  }

  void fill_next() {
    const torch::NoGradGuard no_grad;
    auto& bucket = buckets[filled];
    bucket.for_places([](torch::Tensor& p, const torch::Tensor& place) {
      if (!p.grad().defined()) {
        place.zero_();
        return;
      }
      place.copy_(p.grad());
      // Of another layout, its norm would be summed in another order.
      if (p.device() == place.device() && p.grad().is_contiguous()) p.mutable_grad() = place;
    });
    ++filled;
    {
      const std::lock_guard lock(mutex);
      waiting.push_back(&bucket);
    }
    changed.notify_all();
  }

  void send() {
    const torch::NoGradGuard no_grad;
    std::unique_lock lock(mutex);
    for (;;) {
      changed.wait(lock, [&] { return stopping || !waiting.empty(); });
      if (stopping) return;
      auto* bucket = waiting.front();
      lock.unlock();
      const Stopwatch watch;
      std::exception_ptr trouble;
      try {
        group.sum_in_order(bucket->flat);
      } catch (...) {
        trouble = std::current_exception();
      }
      lock.lock();
      times.sums += watch.seconds();
      waiting.pop_front();
      if (trouble) error = trouble;
      changed.notify_all();
    }
  }

  void restart_times() {
    const std::lock_guard lock(mutex);
    times = {};
  }

  void wait_for_sums() {
    const Stopwatch watch;
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return waiting.empty() || error; });
    times.waited = watch.seconds();
    if (error) std::rethrow_exception(error);
  }

  /// The sums into the gradients; a parameter that no rank used stays without one.
  static void take_sums(GradientBucket& bucket) {
    const torch::NoGradGuard no_grad;
    bucket.for_places([](torch::Tensor& p, const torch::Tensor& sum) {
      if (p.grad().defined() && p.grad().data_ptr() != sum.data_ptr())
        p.mutable_grad().copy_(sum);
      else if (!p.grad().defined() && sum.any().item<bool>())
        p.mutable_grad() = sum.to(p.device(), p.scalar_type());
    });
  }

  const WorkerGroup& group;
  std::vector<GradientBucket> buckets;
  std::vector<std::shared_ptr<torch::autograd::Node>> nodes;
  bool active = false;  // within the last backward pass of a step
  size_t filled = 0;

  std::mutex mutex;
  std::condition_variable changed;
  std::deque<GradientBucket*> waiting;  // filled, not yet summed
  std::exception_ptr error;
  ExchangeTimes times;
  bool stopping = false;
  std::thread sender;
};

GradientExchange::GradientExchange(const WorkerGroup& group,
                                   const std::vector<torch::Tensor>& parameters) {
  if (group.size() > 1) state_ = std::make_unique<State>(group, parameters);
}

GradientExchange::~GradientExchange() = default;

void GradientExchange::begin() {
  if (!state_) return;
  for (auto& bucket : state_->buckets) bucket.missing = std::ssize(bucket.parameters);
  state_->active = true;
  state_->restart_times();
}

void GradientExchange::finish() {
  if (!state_) return;
  auto& s = *state_;
  if (!s.active) s.restart_times();
  s.active = false;
  while (s.filled < s.buckets.size()) s.fill_next();
  s.wait_for_sums();
  for (auto& bucket : s.buckets) State::take_sums(bucket);
  s.filled = 0;
}

ExchangeTimes GradientExchange::times() const {
  if (!state_) return {};
  const std::lock_guard lock(state_->mutex);
  return state_->times;
}

}  // namespace vitrine
