#pragma once

#include <string>
#include <vector>

#include "vitrine/formats/safetensors.h"
#include "vitrine/weights/account.h"

namespace vitrine {

class Model;

/// The parameters and buffers of a model under their names.
NamedTensors named_weights(const Model& model);

/// How learned positions are brought to another grid. `Bicubic` and `Bilinear` are torch's, without
/// antialias and with half-pixel centres; `BicubicAntialias` is the default of timm.
enum class PositionResize { None, Bilinear, Bicubic, BicubicAntialias };

/// What becomes of the memory of a mapped file when a model is filled from it. `Keep`: it is
/// copied. `GiveBack`: the same, and freed tensor by tensor, for a file that is read once.
/// `Borrow`: nothing is copied where type and layout agree, and the model's parameters lie in the
/// file until `own_weights` is called.
enum class FileMemory { Keep, GiveBack, Borrow };

/// What loading does with weights that do not fit; by default it refuses them all.
struct LoadPolicy {
  /// Takes what fits; whatever else the model has keeps its values.
  bool partial = false;
  /// Names under these prefixes ("head.") keep the model's values, whatever the file holds.
  std::vector<std::string> skip{};
  /// The same, but only where one of the tensors under the prefix is missing or of another shape: a
  /// classifier of other classes.
  std::vector<std::string> skip_unfitting{};
  /// Positions of another grid of tokens are interpolated.
  PositionResize positions = PositionResize::None;
  FileMemory memory = FileMemory::Keep;
};

/// Copies the file's tensors (those under `prefix`, if given) by name into the model. A missing,
/// unknown or differently shaped one that the policy does not allow throws before anything is
/// copied, and names it, both shapes, `origin` and the remedy.
Account load_weights(Model& model, const TensorFile& file, const std::string& origin,
                     const LoadPolicy& policy = {}, const std::string& prefix = "");

/// What `load_weights` would do or refuse; the model's weights need no memory.
Account check_weights(const Model& model, const TensorFile& file, const std::string& origin,
                      const LoadPolicy& policy = {}, const std::string& prefix = "");

/// Copies what still lies in a mapped file (`FileMemory::Borrow`) into the model's own memory and
/// frees the file's.
void own_weights(Model& model);

/// Positions (1, prefix + S * S, C) interpolated to (1, prefix + rows * columns, C); the first
/// `prefix` rows stay. Throws if there is no square grid in the table.
torch::Tensor resized_positions(const torch::Tensor& table, int64_t prefix, int64_t rows,
                                int64_t columns, PositionResize how);

}  // namespace vitrine
