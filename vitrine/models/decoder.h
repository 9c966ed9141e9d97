#pragma once

#include <torch/torch.h>

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "vitrine/core/image.h"
#include "vitrine/nn/block.h"

namespace vitrine {

/// What a decoder keeps of the sequences that are being generated.
class DecoderState {
 public:
  virtual ~DecoderState() = default;
  /// The steps so far.
  virtual int64_t position() const = 0;
  /// The memory of the KV caches.
  virtual int64_t cache_bytes() const = 0;
};

/// A model that predicts each token of a sequence from those before it, so that it can generate:
/// reached through `Model::decoder()`. Tokens are numbered from 0 to vocabulary() - 1.
class Decoder {
 public:
  virtual ~Decoder() = default;
  virtual int64_t vocabulary() const = 0;
  /// The maximum number of steps.
  virtual int64_t context() const = 0;
  /// Whether the model predicts the first token from nothing. If not, a sequence begins with a
  /// token of the data, such as the start of a sentence.
  virtual bool predicts_first() const = 0;
  /// How a sequence is an image; nothing if it is text.
  virtual std::optional<ImageLayout> image_layout() const { return std::nullopt; }
  /// The colours that tokens stand for, red, green and blue from -1 to 1: (vocabulary, 3), a buffer
  /// of the model, which training fills; undefined if tokens are something else.
  virtual torch::Tensor palette() const { return {}; }
  /// Where in the data's sequence each token stands that the model reads, (context) int64;
  /// undefined: the model reads them in the order of the data.
  virtual torch::Tensor reading_order() const { return {}; }

  /// For `batch` sequences without any tokens; throws if the model's layers cannot generate.
  virtual std::unique_ptr<DecoderState> make_state(int64_t batch) const = 0;
  /// Takes the tokens before the next ones, (B) int64, and returns the logits of the next ones,
  /// (B, vocabulary): those of the forward pass in evaluation mode. The first step of a model that
  /// predicts the first token takes an undefined tensor.
  virtual torch::Tensor step(const torch::Tensor& previous, DecoderState& state) const = 0;
};

/// A decoder made of an embedding, positional embeddings, blocks and a head.
class BlockDecoder : public Decoder {
 public:
  bool predicts_first() const override { return parts().start.defined(); }
  std::unique_ptr<DecoderState> make_state(int64_t batch) const override;
  torch::Tensor step(const torch::Tensor& previous, DecoderState& state) const override;

 protected:
  struct Parts {
    torch::Tensor start{};  // (C), what is read before the first token; undefined: nothing is
    torch::nn::Embedding embedding{nullptr};
    torch::Tensor positions{};  // (1, T, C), added to the tokens that are read; may be undefined
    BlockList blocks{nullptr};
    std::function<torch::Tensor(const torch::Tensor&)> logits{};  // of the blocks' output, (B, C)
  };
  virtual Parts parts() const = 0;

 private:
  class State;
};

}  // namespace vitrine
