#pragma once

#include "vitrine/infer/addition_predictor.h"
#include "vitrine/serve/engine/layer_weights.h"
#include "vitrine/serve/engine/served_model.h"

namespace vitrine {
struct LoadedCheckpoint;
}

namespace vitrine::serve {

/// A sum as a network sees it.
struct AddedNumbers {
  PredictedSum sum{};
  std::vector<std::string> tokens{};   // the input positions as the network reads them
  std::vector<LayerWeights> layers{};  // none of networks without attention
};

/// A network that adds two numbers from 0 to 99.
class ServedAdder : public ServedModel {
 public:
  static constexpr auto kKind = ModelKind::Adder;
  static constexpr const char* kNoun = "an addition network";

  ServedAdder(ModelCard card, const LoadedCheckpoint& loaded);

  ModelKind kind() const override { return kKind; }
  const ModelCard& card() const override { return card_; }
  std::string purpose() const override { return "adds two numbers"; }

  AddedNumbers add(NumberPair pair) const;

 private:
  const ModelCard card_;
  const AdditionPredictor network_;
};

}  // namespace vitrine::serve
