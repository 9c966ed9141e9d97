#include "vitrine/serve/engine/served_adder.h"

#include <torch/torch.h>

#include "vitrine/models/model.h"
#include "vitrine/weights/checkpoint.h"

namespace vitrine::serve {

ServedAdder::ServedAdder(ModelCard card, const LoadedCheckpoint& loaded)
    : card_(std::move(card)), network_(loaded.model) {}

AddedNumbers ServedAdder::add(NumberPair pair) const {
  AddedNumbers answer;
  answer.layers = captured_weights([&] { answer.sum = network_.add(pair); });
  for (const int digit : {pair.a / 10, pair.a % 10, pair.b / 10, pair.b % 10})
    answer.tokens.push_back(std::to_string(digit));
  return answer;
}

}  // namespace vitrine::serve
