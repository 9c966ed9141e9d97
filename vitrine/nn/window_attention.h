#pragma once

#include "vitrine/nn/self_attention.h"

namespace vitrine {

/// A square grid of tokens, row by row, that is cut into square windows. With a shift, the windows
/// lie so many tokens further down and to the right, and those that leave the grid come in again on
/// its other side.
struct WindowConfig {
  int64_t side = 56;   // of the grid, in tokens
  int64_t window = 7;  // side of a window; must divide `side`
  int64_t shift = 0;   // less than `window`

  void validate() const;
};

/// The windows of a grid of T tokens: W windows of N tokens each. Its tensors follow from the
/// config alone, so they are no weights.
class Windows {
 public:
  explicit Windows(const WindowConfig& c);

  int64_t count() const { return rows() * rows(); }                   // W
  int64_t tokens() const { return config_.window * config_.window; }  // N

  /// The tokens of the grid, window by window: int64 (T); undefined where one window is the grid.
  const torch::Tensor& order() const { return order_; }
  /// The way back.
  const torch::Tensor& inverse() const { return inverse_; }
  /// What keeps tokens of a window apart that only the shift has brought together, to be added to
  /// the scores: (W, N, N), 0 or -100; undefined without a shift.
  const torch::Tensor& mask() const { return mask_; }
  /// Weights inside the windows as weights of the whole grid, 0 outside a window:
  /// (B, W, H, N, N) -> (B, H, T, T).
  torch::Tensor spread(const torch::Tensor& weights) const;

 private:
  int64_t rows() const { return config_.side / config_.window; }  // of windows
  /// Of a tensor over the grid (S, S), window by window: (W, N).
  torch::Tensor by_window(const torch::Tensor& grid) const;

  WindowConfig config_;
  torch::Tensor order_, inverse_, mask_;
};

/// Where the bias of each pair of tokens of a window stands in a table by relative position,
/// (2 window - 1)^2 rows: int64 (N * N), queries first.
torch::Tensor relative_position_index(int64_t window);

/// The relative positions of a window, row and column of each, on the logarithmic scale of Swin v2:
/// ((2 window - 1)^2, 2). The farthest of a window of `pretrained` tokens lie at log2(9) / 3.
torch::Tensor log_relative_positions(int64_t window, int64_t pretrained);

struct WindowAttentionConfig {
  int64_t dim = 96;
  int64_t heads = 3;
  WindowConfig windows{};
  double dropout = 0;            // after the output projection
  double attention_dropout = 0;  // on the attention weights
};

/// Attention among the tokens of each window, with a learned bias by relative position:
/// (B, T, C) -> (B, T, C). Captures get the weights over the whole grid.
class WindowAttentionImpl : public SelfAttentionImpl {
 public:
  torch::Tensor forward(const torch::Tensor& x) override;

  const Windows windows;

 protected:
  WindowAttentionImpl(const WindowAttentionConfig& c, bool qkv_bias);

  /// Queries, keys and values of every token, whose products are the scores but for
  /// `score_scale`: (B, T, C) -> (B, T, 3, H, D).
  virtual torch::Tensor queries_keys_values(const torch::Tensor& x) = 0;
  virtual double score_scale() const = 0;
  /// ((2 window - 1)^2, H)
  virtual torch::Tensor bias_table() = 0;

 private:
  /// By relative position: (H, N, N).
  torch::Tensor score_bias();

  torch::Tensor position_index_;  // as `relative_position_index`
};
TORCH_MODULE(WindowAttention);

/// That of Swin: scores q k / sqrt(D), biases from a table.
class TableWindowAttentionImpl : public WindowAttentionImpl {
 public:
  explicit TableWindowAttentionImpl(const WindowAttentionConfig& c);

  torch::Tensor relative_position_bias_table;  // ((2 window - 1)^2, H)

 protected:
  torch::Tensor queries_keys_values(const torch::Tensor& x) override;
  double score_scale() const override;
  torch::Tensor bias_table() override { return relative_position_bias_table; }
};
TORCH_MODULE(TableWindowAttention);

/// That of Swin v2: scores are cosines times a learned scale of at most 100, biases the outputs of
/// a small network for each relative position, between 0 and 16. Keys have no bias in `qkv`.
class CosineWindowAttentionImpl : public WindowAttentionImpl {
 public:
  /// `pretrained_window`: that of the weights to be fine-tuned; 0: the window itself.
  CosineWindowAttentionImpl(const WindowAttentionConfig& c, int64_t pretrained_window);

  torch::Tensor q_bias, v_bias;  // (C)
  torch::Tensor logit_scale;     // (H, 1, 1), the logarithm of the scale
  torch::nn::Sequential cpb_mlp{nullptr};

 protected:
  torch::Tensor queries_keys_values(const torch::Tensor& x) override;
  double score_scale() const override { return 1; }
  torch::Tensor bias_table() override;

 private:
  torch::Tensor positions_;  // as `log_relative_positions`
};
TORCH_MODULE(CosineWindowAttention);

}  // namespace vitrine
