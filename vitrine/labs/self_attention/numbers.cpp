#include "vitrine/labs/self_attention/numbers.h"

#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "vitrine/core/line_fit.h"
#include "vitrine/core/progress.h"
#include "vitrine/data/sentences.h"
#include "vitrine/models/word_transformer.h"
#include "vitrine/nn/attention.h"
#include "vitrine/nn/plain_values.h"
#include "vitrine/ops/layer_norm.h"
#include "vitrine/ops/torch_compat.h"
#include "vitrine/train/throughput.h"

namespace vitrine::labs::self_attention {
namespace {

/// (rows, columns); what is hidden, -infinity, becomes NaN.
plot::Matrix visible_matrix(const torch::Tensor& t) {
  return plain_matrix(t.masked_fill(t.isinf(), NAN));
}

/// The part of a row of attention weights that tells two heads apart: half the sum of differences.
double row_distance(const plot::Matrix& a, const plot::Matrix& b, int64_t row) {
  double sum = 0;
  for (int64_t j = 0; j < a.columns; ++j) sum += std::abs(a.at(row, j) - b.at(row, j));
  return sum / 2;
}

double heads_distance(const plot::Matrix& a, const plot::Matrix& b) {
  double sum = 0;
  for (int64_t i = 1; i < a.rows; ++i) sum += row_distance(a, b, i);
  return sum / static_cast<double>(a.rows - 1);
}

/// What row `i` adds to the means over `rows` rows.
void add_row(HeadView& view, const plot::Matrix& head, int64_t i, double rows) {
  for (int64_t j = 0; j <= i; ++j) {
    const double weight = head.at(i, j);
    auto& share = j == i ? view.own : j == i - 1 ? view.before : j == 0 ? view.start : view.rest;
    share += weight / rows;
    if (weight > 0) view.entropy -= weight * std::log(weight) / std::log(i + 1) / rows;
  }
}

HeadView view_of(const plot::Matrix& head) {
  HeadView view;
  for (int64_t i = 1; i < head.rows; ++i)
    add_row(view, head, i, static_cast<double>(head.rows - 1));
  return view;
}

/// The fields of a view, to take means of them.
constexpr double HeadView::*kViewFields[] = {&HeadView::own, &HeadView::before, &HeadView::start,
                                             &HeadView::rest, &HeadView::entropy};

double variance_between(const std::vector<plot::Matrix>& heads, int64_t i, int64_t j) {
  double sum = 0, squares = 0;
  for (const auto& head : heads) {
    sum += head.at(i, j);
    squares += head.at(i, j) * head.at(i, j);
  }
  const auto n = static_cast<double>(heads.size());
  return squares / n - (sum / n) * (sum / n);
}

using SequenceLayer = std::function<torch::Tensor(const torch::Tensor& x)>;  // (1, T, C) -> same

SequenceLayer rnn_layer(int64_t width) {
  torch::nn::RNN rnn(torch::nn::RNNOptions(width, width).batch_first(true));
  return [rnn](const torch::Tensor& x) mutable { return std::get<0>(rnn(x)); };
}

SequenceLayer attention_layer(int64_t width, int64_t heads) {
  Attention attention(AttentionConfig{.dim = width, .heads = heads});
  return [attention](const torch::Tensor& x) mutable { return attention(x); };
}

/// Follows what torch allocates on this thread.
class MemoryMeter : public c10::MemoryReportingInfoBase {
 public:
  void reportMemoryUsage(void* /*block*/, int64_t size, ReportedBytes /*allocated*/,
                         ReportedBytes /*reserved*/, c10::Device /*device*/) override {
    held_ += size;
    peak_ = std::max(peak_, held_);
  }
  bool memoryProfilingEnabled() const override { return true; }
  int64_t peak() const { return peak_; }

 private:
  int64_t held_ = 0, peak_ = 0;
};

double peak_megabytes(const SequenceLayer& layer, const torch::Tensor& x) {
  const auto meter = std::make_shared<MemoryMeter>();
  const c10::DebugInfoGuard guard(c10::DebugInfoKind::PROFILER_STATE, meter);
  layer(x);
  return static_cast<double>(meter->peak()) / 1e6;
}

double milliseconds(const SequenceLayer& layer, const torch::Tensor& x, double seconds) {
  const torch::NoGradGuard no_grad;
  return measure_steps([&] { layer(x); }, seconds).milliseconds;
}

LayerCost measure_layer(const SequenceLayer& layer, const torch::Tensor& x, double seconds) {
  // The longest way through the graph that torch records for the backward pass.
  const auto chain = static_cast<double>(layer(x).grad_fn()->topological_nr());
  return {chain, milliseconds(layer, x, seconds), peak_megabytes(layer, x)};
}

/// The norm of the gradient of the last output, along a random direction, for each input.
torch::Tensor gradients_by_distance(const SequenceLayer& layer, int64_t length, int64_t width) {
  const auto x = torch::randn({1, length, width}).requires_grad_();
  const auto direction = torch::nn::functional::normalize(
      torch::randn({width}), torch::nn::functional::NormalizeFuncOptions().dim(0));
  layer(x)[0][length - 1].dot(direction).backward();
  return x.grad()[0].norm(2, /*dim=*/1).flip(0).to(torch::kDouble);  // (T), nearest first
}

/// The factor per step of an exponential fall, leaving out the last token itself.
double factor_per_step(const std::vector<double>& distance, const std::vector<double>& gradient) {
  std::vector<double> steps, logarithms;
  for (size_t i = 1; i < distance.size(); ++i) {
    if (gradient[i] <= 0) continue;
    steps.push_back(distance[i]);
    logarithms.push_back(std::log(gradient[i]));
  }
  return std::exp(fitted_slope(steps, logarithms));
}

}  // namespace

SelfAttentionParts self_attention_parts(const SentenceModel& model, const std::string& sentence,
                                        int64_t head) {
  const torch::NoGradGuard no_grad;
  auto& network = *model.network();
  const auto block = &network.blocks->at<EncoderBlockImpl>(0);
  auto& attention = block->attn;
  const auto words = torch::tensor(sentence_vocabulary().ids(sentence)).unsqueeze(0);
  const auto x = layer_norm(network.positions(network.embedding(words)), block->norm1);
  const auto T = x.size(1), H = attention->config.heads, D = x.size(2) / H;

  const auto packed = attention->qkv(x).view({1, T, 3, H, D});
  const auto parts = packed.permute({2, 0, 3, 1, 4}).unbind();  // 3 x (1, H, T, D)
  const auto &q = parts[0], &k = parts[1], &v = parts[2];
  const auto later = torch::full({T, T}, -INFINITY).triu(1);
  const auto scores = q.matmul(k.transpose(-2, -1)) / std::sqrt(D) + later;  // (1, H, T, T)
  const auto weights = scores.softmax(-1);                                   // (1, H, T, T)
  const auto heads = weights.matmul(v);                                      // (1, H, T, D)
  const auto output = attention->proj(heads.transpose(1, 2).flatten(2));     // (1, T, C)

  SelfAttentionParts result;
  const auto add_shape = [&](const std::string& key, const torch::Tensor& t) {
    result.shapes.push_back({key, t.sizes().vec()});
  };
  add_shape("input", x);
  add_shape("projection", attention->qkv->weight);
  add_shape("queries", q);
  add_shape("keys", k);
  add_shape("values", v);
  add_shape("weights", weights);
  add_shape("heads", heads);
  add_shape("output", output);
  result.queries = visible_matrix(q[0][head]);
  result.keys = visible_matrix(k[0][head]);
  result.values = visible_matrix(v[0][head]);
  result.scores = visible_matrix(scores[0][head]);
  result.weights = visible_matrix(weights[0][head] + later);
  result.output = visible_matrix(heads[0][head]);
  result.difference = greatest_difference(output, attention(x));
  return result;
}

HeadDiversity head_diversity(const std::vector<plot::Matrix>& heads) {
  const auto T = heads.front().rows;
  HeadDiversity result{.variance = {T, T, {}}};
  int64_t visible = 0;
  for (int64_t i = 0; i < T; ++i)
    for (int64_t j = 0; j < T; ++j) {
      const bool seen = j <= i;
      const double variance = variance_between(heads, i, j);
      result.variance.values.push_back(seen ? variance : NAN);
      if (!seen || i == 0) continue;
      result.mean_variance += variance;
      ++visible;
    }
  result.mean_variance /= static_cast<double>(visible);
  int64_t pairs = 0;
  for (size_t a = 0; a < heads.size(); ++a) {
    result.heads.push_back(view_of(heads[a]));
    for (size_t b = a + 1; b < heads.size(); ++b, ++pairs)
      result.mean_distance += heads_distance(heads[a], heads[b]);
  }
  if (pairs > 0) result.mean_distance /= static_cast<double>(pairs);
  return result;
}

HeadDiversity mean_diversity(const std::vector<SentenceAttention>& sentences, size_t layer) {
  const auto n = static_cast<double>(sentences.size());
  HeadDiversity mean{.heads = std::vector<HeadView>(sentences.front().layers[layer].size())};
  for (const auto& sentence : sentences) {
    const auto one = head_diversity(sentence.layers[layer]);
    mean.mean_variance += one.mean_variance / n;
    mean.mean_distance += one.mean_distance / n;
    for (size_t h = 0; h < mean.heads.size(); ++h)
      for (const auto field : kViewFields) mean.heads[h].*field += one.heads[h].*field / n;
  }
  return mean;
}

CostCurves measure_costs(const std::vector<int64_t>& lengths, double seconds_each, uint64_t seed,
                         const std::string& label) {
  torch::manual_seed(seed);
  CostCurves curves{.lengths = lengths, .fitted_from = lengths[lengths.size() / 2]};
  const auto C = static_cast<double>(curves.width);
  const auto rnn = rnn_layer(curves.width);
  const auto attention = attention_layer(curves.width, curves.heads);
  Progress progress(label, static_cast<int64_t>(lengths.size()), "");
  for (const auto length : lengths) {
    const auto x = torch::randn({1, length, curves.width});
    const auto T = static_cast<double>(length);
    curves.rnn.push_back(measure_layer(rnn, x, seconds_each));
    curves.rnn.back().multiply_adds = 2 * T * C * C;
    curves.attention.push_back(measure_layer(attention, x, seconds_each));
    curves.attention.back().multiply_adds = 4 * T * C * C + 2 * T * T * C;
    progress.update(static_cast<int64_t>(curves.rnn.size()));
  }
  return curves;
}

double cost_exponent(const CostCurves& curves, const std::vector<LayerCost>& layer,
                     double LayerCost::*figure) {
  std::vector<double> x, y;
  for (size_t i = 0; i < layer.size(); ++i) {
    if (curves.lengths[i] < curves.fitted_from) continue;
    x.push_back(std::log(curves.lengths[i]));
    y.push_back(std::log(layer[i].*figure));
  }
  return fitted_slope(x, y);
}

ReachCurves measure_reach(int64_t length, int64_t layers, uint64_t seed) {
  torch::manual_seed(seed);
  const CostCurves sizes;
  auto rnn = torch::zeros({length}, torch::kDouble), attention = rnn.clone();
  for (int64_t i = 0; i < layers; ++i) {
    rnn += gradients_by_distance(rnn_layer(sizes.width), length, sizes.width) / layers;
    attention +=
        gradients_by_distance(attention_layer(sizes.width, sizes.heads), length, sizes.width) /
        layers;
  }
  ReachCurves curves{.rnn = plain_values(rnn), .attention = plain_values(attention)};
  for (int64_t i = 0; i < length; ++i) curves.distance.push_back(static_cast<double>(i));
  curves.rnn_factor = factor_per_step(curves.distance, curves.rnn);
  curves.attention_factor = factor_per_step(curves.distance, curves.attention);
  return curves;
}

}  // namespace vitrine::labs::self_attention
