#include "vitrine/labs/basics/numbers.h"

#include <torch/torch.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "vitrine/core/random.h"
#include "vitrine/nn/plain_values.h"
#include "vitrine/ops/attention.h"

namespace vitrine::labs::basics {
namespace {

using plot::Matrix;

constexpr int64_t kKeys = 3, kExampleWidth = 16;

Matrix product(const Matrix& a, const Matrix& b) {
  Matrix result{a.rows, b.columns, std::vector<double>(a.rows * b.columns)};
  for (int64_t i = 0; i < a.rows; ++i)
    for (int64_t j = 0; j < b.columns; ++j)
      for (int64_t k = 0; k < a.columns; ++k)
        result.values[i * b.columns + j] += a.at(i, k) * b.at(k, j);
  return result;
}

std::vector<double> softmax_of(std::vector<double> scores, double factor) {
  const double greatest = *std::max_element(scores.begin(), scores.end());
  for (double& s : scores) s = std::exp(factor * (s - greatest));
  const double sum = std::accumulate(scores.begin(), scores.end(), 0.0);
  for (double& s : scores) s /= sum;
  return scores;
}

/// Each row of `scores` through softmax.
Matrix row_softmax(const Matrix& scores) {
  Matrix result{scores.rows, scores.columns, {}};
  for (int64_t i = 0; i < scores.rows; ++i) {
    const auto first = scores.values.begin() + i * scores.columns;
    const auto row = softmax_of({first, first + scores.columns}, /*factor=*/1);
    result.values.insert(result.values.end(), row.begin(), row.end());
  }
  return result;
}

torch::Tensor tensor_of(const Matrix& m) {
  return torch::tensor(m.values, torch::kDouble).view({m.rows, m.columns});
}

/// Three (T, D) as the library's operations take one head: (1, T, 3, 1, D).
torch::Tensor pack_one_head(const torch::Tensor& q, const torch::Tensor& k,
                            const torch::Tensor& v) {
  return torch::stack({q, k, v}, /*dim=*/1).unsqueeze(0).unsqueeze(3);
}

double difference_from_table(const torch::Tensor& a, const Matrix& b) {
  return greatest_difference(a.view({b.rows, b.columns}), tensor_of(b));
}

ScalingExample draw_example(int64_t width, Random& random) {
  ScalingExample example{.width = width, .scores = std::vector<double>(kKeys)};
  for (int64_t i = 0; i < width; ++i) {
    const double query = random.normal();
    for (double& score : example.scores) score += query * random.normal();
  }
  example.raw = softmax_of(example.scores, /*factor=*/1);
  example.scaled = softmax_of(example.scores, 1 / std::sqrt(width));
  return example;
}

double squared_distance(const std::vector<double>& weights,
                        const std::array<double, kKeys>& wanted) {
  double sum = 0;
  for (int64_t i = 0; i < kKeys; ++i) sum += std::pow(weights[i] - wanted[i], 2);
  return sum;
}

void sort_by_score(ScalingExample& example) {
  for (auto* numbers : {&example.scores, &example.raw, &example.scaled})
    std::sort(numbers->rbegin(), numbers->rend());
}

/// Adds what softmax made of one draw, divided by the number of draws.
void add_stats(SoftmaxStats& mean, const std::vector<double>& weights, int64_t draws) {
  double entropy = 0, squares = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] > 0) entropy -= weights[i] * std::log(weights[i]);
    // d w_i / d s_j = w_i (1 - w_i) if i = j, else -w_i w_j
    for (size_t j = 0; j < weights.size(); ++j)
      squares += std::pow(weights[i] * ((i == j ? 1 : 0) - weights[j]), 2);
  }
  mean.entropy += entropy / draws;
  mean.greatest += *std::max_element(weights.begin(), weights.end()) / draws;
  mean.gradient += std::sqrt(squares) / draws;
}

ScalingPoint scaling_at(int64_t width, uint64_t seed, int64_t draws) {
  Random random{seed, static_cast<uint64_t>(width)};
  ScalingPoint point{.width = width};
  double squares = 0;
  for (int64_t draw = 0; draw < draws; ++draw) {
    const auto example = draw_example(width, random);
    if (draw == 0) point.first = example;
    for (const double score : example.scores) squares += score * score / (kKeys * draws);
    add_stats(point.raw, example.raw, draws);
    add_stats(point.scaled, example.scaled, draws);
  }
  sort_by_score(point.first);
  point.score_deviation = std::sqrt(squares);  // the mean of q k is 0
  return point;
}

}  // namespace

Matrix transposed(const Matrix& a) {
  Matrix result{a.columns, a.rows, {}};
  for (int64_t j = 0; j < a.columns; ++j)
    for (int64_t i = 0; i < a.rows; ++i) result.values.push_back(a.at(i, j));
  return result;
}

AttentionSteps attention_step_by_step() {
  AttentionSteps s;
  s.queries = {3, 4, {1, 0, 1, 0, 0, 2, 0, 1, 2, 2, 0, 0}};
  s.keys = {3, 4, {1, 0, 1, 0, 0, 1, 0, 1, 1, 1, 0, 0}};
  s.values = {3, 4, {1, 0, 0, 2, 0, 1, 0, 2, 0, 0, 1, 2}};
  s.scores = product(s.queries, transposed(s.keys));
  s.scaled = s.scores;
  for (double& score : s.scaled.values) score /= std::sqrt(s.queries.columns);
  s.weights = row_softmax(s.scaled);
  s.output = product(s.weights, s.values);
  for (int64_t i = 0; i < s.weights.rows; ++i) {
    const auto first = s.weights.values.begin() + i * s.weights.columns;
    s.row_sums.push_back(std::accumulate(first, first + s.weights.columns, 0.0));
  }
  const auto packed = pack_one_head(tensor_of(s.queries), tensor_of(s.keys), tensor_of(s.values));
  s.weights_difference = difference_from_table(attention_weights(packed), s.weights);
  s.output_difference = difference_from_table(packed_attention(packed), s.output);
  return s;
}

ScalingExample textbook_scaling_example(uint64_t seed, int64_t draws) {
  Random random{seed, static_cast<uint64_t>(kExampleWidth)};
  ScalingExample best;
  double best_distance = INFINITY;
  for (int64_t draw = 0; draw < draws; ++draw) {
    auto example = draw_example(kExampleWidth, random);
    sort_by_score(example);
    const double distance = squared_distance(example.raw, kTextbookRaw) +
                            squared_distance(example.scaled, kTextbookScaled);
    if (distance >= best_distance) continue;
    best_distance = distance;
    best = std::move(example);
  }
  return best;
}

std::vector<ScalingPoint> scaling_over_widths(const std::vector<int64_t>& widths, uint64_t seed,
                                              int64_t draws) {
  std::vector<ScalingPoint> points;
  for (const auto width : widths) points.push_back(scaling_at(width, seed, draws));
  return points;
}

LongerSequence attend_longer_sequence(uint64_t seed) {
  constexpr int64_t kTopics = 4, kWidth = 32;
  constexpr double kLength = 4, kNoise = 0.4;  // of a direction; per channel
  torch::manual_seed(seed);
  LongerSequence s{.topics = {0, 1, 2, 0, 3, 1, 0, 2, 3, 1, 2, 3, 0, 2, 1, 3}};
  const auto T = static_cast<int64_t>(s.topics.size());
  const auto topic = torch::tensor(s.topics);
  const auto same = topic.unsqueeze(0).eq(topic.unsqueeze(1)).to(torch::kDouble);  // (T, T)
  const auto orthogonal =
      std::get<0>(torch::linalg_qr(torch::randn({kWidth, kTopics}, torch::kDouble))).t();
  const auto directions = kLength * orthogonal.index_select(0, topic);             // (T, D)
  const auto x = directions + kNoise * torch::randn({T, kWidth}, torch::kDouble);  // (T, D)
  const auto packed = pack_one_head(x, x, x);
  const auto weights = attention_weights(packed).view({T, T});
  s.weights = {T, T, plain_values(weights)};
  s.within = plain_values((weights * same).sum(1));
  s.within_if_even = same.mean().item<double>();
  s.before = plain_values(torch::cosine_similarity(x, directions, /*dim=*/1));
  s.after = plain_values(torch::cosine_similarity(packed_attention(packed)[0], directions, 1));
  return s;
}

}  // namespace vitrine::labs::basics
