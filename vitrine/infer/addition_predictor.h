#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "vitrine/core/files.h"

namespace vitrine {

/// Two numbers 0 .. 99 to add.
struct NumberPair {
  int a = 0, b = 0;
};

/// The pair that "57+68" means; nothing if the text is no such sum.
std::optional<NumberPair> parse_pair(std::string_view text);

/// Whether the text is "NUMBER+NUMBER", with numbers of any size.
bool looks_like_sum(std::string_view text);

class Model;

/// What a network takes for a sum, and how sure it is of all its digits.
struct PredictedSum {
  int value = 0;
  double probability = 0;
  // Of the values 0 to 9 of the hundreds, the tens and the units; the hundreds are 0 or 1.
  std::array<std::array<double, 10>, 3> digits{};
};

/// A trained addition model.
class AdditionPredictor {
 public:
  /// Loads a run folder (its best checkpoint) or a .safetensors file.
  static AdditionPredictor load(const fs::path& run_or_checkpoint,
                                const std::string& device = "cpu");
  /// A model of Task::DigitSum in evaluation mode.
  explicit AdditionPredictor(std::shared_ptr<Model> model);
  AdditionPredictor(AdditionPredictor&&) noexcept;
  AdditionPredictor& operator=(AdditionPredictor&&) noexcept;
  ~AdditionPredictor();

  PredictedSum add(NumberPair pair) const;

 private:
  struct Loaded;
  explicit AdditionPredictor(std::unique_ptr<Loaded> loaded);
  std::unique_ptr<Loaded> loaded_;
};

}  // namespace vitrine
