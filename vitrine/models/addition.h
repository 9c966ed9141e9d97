#pragma once

// Two addition models for two two-digit numbers: (B, 4) digits -> (B, 22) logits for the digits
// of the sum. Both end in one linear layer over all four digits, because each digit of the sum
// depends on all of them: the units' carry changes the tens, the tens' carry the hundreds. It
// scores two values for the hundreds and ten for the tens and the units, none that cannot occur.

#include "vitrine/core/fields.h"
#include "vitrine/models/model.h"
#include "vitrine/nn/encoder_block.h"
#include "vitrine/nn/grid_conv.h"
#include "vitrine/nn/positional_encoding.h"

namespace vitrine {

/// The sums that logits (B, 22) stand for: (B) int64.
torch::Tensor decode_sums(const torch::Tensor& logits);

/// What is common to both: digits in, logits of the sum's digits out.
class AdditionModel : public Model {
 public:
  torch::Tensor example_input(int64_t batch) const override;
  Task task() const override { return Task::DigitSum; }
};

struct AdditionCnnConfig {
  int64_t embed = 128;
  int64_t layers = 2;
  int64_t channels = 64;

  void visit(Fields& f);
  void validate() const;
};

/// The digits as a 2 x 2 grid, one number per row, under 3 x 3 convolutions.
class AdditionCnn : public AdditionModel {
 public:
  explicit AdditionCnn(const AdditionCnnConfig& c);
  torch::Tensor features(const torch::Tensor& digits) override;
  torch::Tensor logits(const torch::Tensor& features) override;

  const AdditionCnnConfig config;
  torch::nn::Embedding embedding{nullptr};
  torch::nn::ModuleList convs{nullptr};
  Linear head{nullptr};
};

struct AdditionTransformerConfig {
  int64_t embed = 8;
  int64_t layers = 2;
  int64_t hidden = 32;
  int64_t heads = 2;
  PositionalEncoding positions = PositionalEncoding::Learned;
  NormPosition norm = NormPosition::Pre;
  Activation activation = Activation::Relu;

  void visit(Fields& f);
  void validate() const;
};

/// The digits as a sequence of four tokens under encoder blocks.
class AdditionTransformer : public AdditionModel {
 public:
  explicit AdditionTransformer(const AdditionTransformerConfig& c);
  torch::Tensor features(const torch::Tensor& digits) override;
  torch::Tensor logits(const torch::Tensor& features) override;
  BlockListImpl::Blocks blocks_in_order() const override { return blocks->in_order(); }
  torch::Tensor position_table() const override { return positions.table(); }

  const AdditionTransformerConfig config;
  torch::nn::Embedding embedding{nullptr};
  PositionEmbedding positions;
  BlockList blocks{nullptr};
  torch::nn::LayerNorm norm{nullptr};  // with NormPosition::Pre only
  Linear head{nullptr};
};

}  // namespace vitrine
