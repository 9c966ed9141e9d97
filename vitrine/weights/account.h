#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace vitrine {

/// What became of a tensor of a file: taken as it is, taken in another layout (transposed,
/// stacked), interpolated to another size, or left out. `Missing` is a weight of the model without
/// a tensor.
enum class LoadStatus { Loaded, Converted, Resized, Skipped, Missing };

struct TensorNote {
  std::string theirs;  // the name in the file; "" for a weight that the file lacks
  std::string ours;    // the name in the model; "" for a tensor that the model has no place for
  LoadStatus status = LoadStatus::Loaded;
  std::string detail{};  // how it was changed, or why it was left out
};

/// What became of every tensor of a file and of every weight of a model.
struct Account {
  std::vector<TensorNote> notes;

  int64_t count(LoadStatus status) const;
  /// "152 tensors: 150 loaded, 2 skipped", without the fates that did not happen.
  std::string summary() const;
  /// One line per tensor: status, their name, our name, detail.
  std::string lines() const;
};

/// One account of two steps: a file's tensors brought to our names, then loaded into a model.
Account joined_accounts(const Account& mapped, const Account& loaded);

}  // namespace vitrine
