#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "vitrine/core/image.h"
#include "vitrine/infer/classifier.h"
#include "vitrine/infer/thread_choice.h"
#include "vitrine/inspect/attention_map.h"
#include "vitrine/inspect/explain_config.h"
#include "vitrine/nn/token_grid.h"
#include "vitrine/serve/engine/served_model.h"

namespace vitrine {
struct LoadedCheckpoint;
}

namespace vitrine::serve {

struct ClassifierCard : ModelCard {
  int64_t image = 0, channels = 0;  // its input: (B, channels, image, image)
  int64_t resize = 0;    // how an image becomes it: short side to this length, then the centre;
  bool stretch = false;  // or the whole image, whatever its proportions
  std::vector<std::string> classes{};
  std::vector<ExplainMethod> methods{};  // that can explain it
  int64_t attention_bytes = 0;           // of all its attention weights, a byte each; 0: none

  int64_t input_values() const { return channels * image * image; }
};

/// Which parts of an image an answer comes from.
struct ImageExplanation {
  Image image{};  // the part that the network sees
  Prediction target{};
  std::vector<Prediction> predictions{};
  AttentionMap map{};
};

/// The weights of one attention layer as bytes: for each head queries x keys, row by row; a weight
/// is its byte times the head's scale.
struct AttentionBytes {
  int64_t heads = 0;
  TokenGrid queries{}, keys{};
  std::vector<float> scale{};  // per head
  std::string bytes{};
};

struct AttentionAnswer {
  std::vector<Prediction> predictions{};
  std::vector<AttentionBytes> layers{};
};

/// One query of one head of plain dot-product attention.
struct HeadAnswer {
  std::vector<float> q{};                    // (D)
  std::vector<std::vector<float>> k{}, v{};  // (T, D)
  std::vector<float> scores{}, weights{};    // (T): scale q . k, and their softmax
  double scale = 0;                          // 1 / sqrt(D)
};

/// What to switch off.
struct Switches {
  std::vector<std::pair<int64_t, int64_t>> heads{};  // attention layer and head, from 0
  std::vector<int64_t> layers{};                     // attention layers, with all their heads
  std::vector<int64_t> patches{};  // cells of `grid`, row by row, which get the mean colour
  int64_t rows = 0, columns = 0;   // of the grid; 0: that of the network's tokens
};

/// An image classifier.
class ServedClassifier : public ServedModel {
 public:
  static constexpr auto kKind = ModelKind::Classifier;
  static constexpr const char* kNoun = "a classifier";

  ServedClassifier(ModelCard card, LoadedCheckpoint loaded);
  ~ServedClassifier() override;

  ModelKind kind() const override { return kKind; }
  const ClassifierCard& card() const override { return card_; }
  std::string purpose() const override { return "classifies images"; }
  /// (rows, classes) of (rows, channels, image, image).
  std::vector<float> forward(std::span<const float> inputs, int64_t rows) const override;

  /// The image as the network's input, `card().input_values()` numbers.
  std::vector<float> input_of(const Image& image) const;
  /// The `k` likeliest classes of one row of logits.
  std::vector<Prediction> top(const std::vector<float>& logits, int64_t k) const;

  /// `target` names a class or gives its index; empty: the most likely one.
  ImageExplanation explain(const Image& image, ExplainMethod method,
                           const std::string& target) const;
  /// No layers for networks that have none, or whose attention never holds its weights.
  AttentionAnswer attention(const std::vector<float>& input) const;
  /// Layer, head and query are counted from 0; nothing if the layer's weights do not come from
  /// queries and keys of all tokens alone. Throws if there is no such layer, head or query.
  std::optional<HeadAnswer> head(const std::vector<float>& input, int64_t layer, int64_t head,
                                 int64_t query) const;
  /// What the head would answer behind the embedding, the first block, ..., the last: five classes
  /// each. Empty for networks whose blocks do not run one after the other.
  std::vector<std::vector<Prediction>> lens(const std::vector<float>& input) const;
  /// The logits with parts switched off.
  std::vector<float> ablated_logits(const std::vector<float>& input, const Switches& off) const;

 private:
  std::unique_ptr<const LoadedCheckpoint> loaded_;
  ClassifierCard card_;
  mutable AdaptiveThreads threads_;
};

}  // namespace vitrine::serve
