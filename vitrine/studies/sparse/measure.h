#pragma once

#include <optional>
#include <string>
#include <vector>

#include "vitrine/studies/measured_part.h"
#include "vitrine/studies/sparse/study.h"
#include "vitrine/train/metrics.h"

namespace vitrine {
class ModelChoice;
struct SparseTransformerConfig;
}  // namespace vitrine

namespace vitrine::sparse {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(AttentionCost, tokens, stride, forward_ms, total_ms, bytes)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(CostPart, threads, rounds, sparse, dense)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(StepCost, pattern, recompute, seconds, peak_bytes)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(NetworkSize, parameters, layers, dim, key_width, hidden)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(StepPart, model, size, tokens, threads, sparse,
                                                dense, all_kept)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(SamplingSpeed, model, batch, tokens, cached, uncached, passes)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(SamplingPart, threads, speeds)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ImageSet, name, files)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ImagesPart, sets)

/// The stride that goes with a length: sqrt(n), up to a multiple of 16.
int64_t stride_for(int64_t tokens);
/// What dense attention takes of memory: a few score matrices of two heads.
double dense_attention_bytes(int64_t tokens);
/// Forward and backward pass of sparse and dense attention, interleaved; medians over the rounds.
CostPart measure_cost(const std::vector<int64_t>& lengths, int64_t rounds);

/// Figures of a cost: see `growth_of`.
inline double total_ms(const AttentionCost& cost) { return cost.total_ms; }
inline double attention_bytes(const AttentionCost& cost) { return static_cast<double>(cost.bytes); }

/// y = factor * x ^ exponent.
struct PowerLaw {
  double factor = 0, exponent = 0;
  double at(double x) const;
};

/// The line through the logarithms, by least squares; all values positive, at least two.
PowerLaw fit_power_law(const std::vector<double>& x, const std::vector<double>& y);

/// How one figure of the attentions grows with their length; nothing if it is not known of two.
std::optional<PowerLaw> growth_of(const std::vector<AttentionCost>& costs,
                                  double (*figure)(const AttentionCost&));

/// Weights, gradients and Adam's two moments.
double training_state_bytes(const NetworkSize& size);
/// What a token adds outside of attention when blocks are recomputed: the inputs of all blocks, the
/// inside of one with its gradients, the logits.
double token_bytes(const NetworkSize& size);
/// A step that keeps the inside of every block.
double bytes_without_recompute(const NetworkSize& size, int64_t tokens);

/// What a training step needs at a length, by calculation.
struct StepEstimate {
  int64_t tokens = 0;
  double seconds = 0, bytes = 0;
};
struct Growth {
  std::vector<StepEstimate> sparse{}, dense{};  // of the same lengths
};

/// Scales the measured step to other lengths; empty if a measured figure is missing.
Growth growth(const StepPart& step, const CostPart& cost, const std::vector<int64_t>& lengths);

/// The settings of a model that is a sparse transformer; throws for other models.
SparseTransformerConfig sparse_config(const ModelChoice& choice);

/// One step of a model of the registry with batch 1, each way in a process of its own.
StepPart measure_step(const std::string& model, const std::vector<std::string>& overrides);

/// Whole sequences sampled by models with random weights.
SamplingPart measure_sampling(const std::vector<std::string>& models,
                              const std::vector<std::string>& overrides,
                              const std::vector<int64_t>& batches);

/// What the run's network generates from nothing and from the upper halves of test images. The
/// files are saved in `folder`/`below`.
ImagesPart generate_images(const fs::path& run, const fs::path& folder, const std::string& below);

/// The curves of `metric`, which is in bits per dim.
RunCurves curves_of(const std::vector<MetricsLine>& lines, const Metric& metric);
/// Gathers what the runs of a sweep left behind.
TrainedPart collect_curves(const SweepConfig& config, const SweepResult& result);

}  // namespace vitrine::sparse
