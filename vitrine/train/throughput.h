#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "vitrine/core/precision.h"
#include "vitrine/train/op_profile.h"

namespace vitrine {

class Model;
struct Batch;

struct ThroughputOptions {
  int64_t batch = 32;
  double seconds = 5;  // measured for about this long, after warming up
  std::string device = "cpu";
  Precision precision = Precision::Float32;  // of training
  bool ops = false;                          // whether the operators are timed as well
};

struct Throughput {
  double milliseconds = 0;    // median time of a step
  int64_t steps = 0;          // that were timed
  std::vector<OpTime> ops{};  // of all those steps, if they were asked for
};

/// Times `step` for about this many seconds, after warming up.
Throughput measure_steps(const std::function<void()>& step, double seconds, bool ops = false);

/// A training step on this batch: forward, loss, backward, AdamW.
Throughput measure_training(Model& model, const Batch& batch, const ThroughputOptions& options);

/// A training step on random data.
Throughput measure_training(Model& model, const ThroughputOptions& options);

/// A forward pass on random data, without gradients.
Throughput measure_inference(Model& model, const ThroughputOptions& options);

/// GFLOP/s of a large square matrix product, in fp32 or bf16: what this device can reach.
double measure_product_peak(const std::string& device, Precision precision);

}  // namespace vitrine
