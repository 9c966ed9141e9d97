#pragma once

#include <torch/types.h>

#include <memory>
#include <vector>

#include "vitrine/train/distributed/worker_group.h"

namespace vitrine {

/// How long the sums of one step took and how much of that the step waited for, behind its backward
/// pass: the rest was hidden. In seconds.
struct ExchangeTimes {
  double sums = 0, waited = 0;
};

/// Sums the gradients of all ranks, bucket by bucket, while the backward pass still runs.
class GradientExchange {
 public:
  /// The parameters in the order of the forward pass; all ranks give the same. A group of one
  /// exchanges nothing.
  GradientExchange(const WorkerGroup& group, const std::vector<torch::Tensor>& parameters);
  GradientExchange(const GradientExchange&) = delete;
  GradientExchange& operator=(const GradientExchange&) = delete;
  ~GradientExchange();

  /// Said before the last backward pass of a step: gradients that are complete are sent from now
  /// on.
  void begin();
  /// Sends what is left, waits for the sums and puts them into the gradients. All ranks must call
  /// it, even one that had no backward pass.
  void finish();
  /// Of the last step.
  ExchangeTimes times() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace vitrine
