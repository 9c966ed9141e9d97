#pragma once

// Weights published by others have their own names and layouts. A name map is the table between
// theirs and ours: one per source and family of models, read from top to bottom.

#include <initializer_list>
#include <map>
#include <string>
#include <vector>

#include "vitrine/formats/safetensors.h"
#include "vitrine/weights/account.h"
#include "vitrine/weights/weight_shapes.h"

namespace vitrine {

/// One name or several.
struct Names : std::vector<std::string> {
  Names() = default;
  Names(const char* name) : vector{name} {}
  Names(std::string name) : vector{std::move(name)} {}
  Names(std::initializer_list<const char*> names) : vector(names.begin(), names.end()) {}
};

/// What is done to a tensor of theirs to make it ours; the other way round when exporting. Steps
/// for matrices leave vectors (biases) alone.
enum class Step {
  Squeeze,     // leading dimensions of 1 that ours lacks are dropped (not put back)
  Transpose,   // (in, out) -> (out, in)
  Orient,      // (in, out) or (out, in) -> (out, in): whichever fits; a square one is transposed
  HwioToOihw,  // (h, w, in, out) -> (out, in, h, w)
  BgrToRgb,    // (out, in, h, w): the last input channel first
  HeadsOut,    // (C, H, D) -> (H * D, C), (H, D) -> (H * D): queries, keys, values by head
  HeadsIn,     // (H, D, C) -> (C, H * D), what brings the heads together; (C) stays
  Positions    // (1, prefix + tokens, C), whose number of tokens loading may change
};

/// A row of the table. Several of theirs are stacked into one of ours, one of theirs is split into
/// several of ours, along the first dimension; steps come before stacking and before splitting.
struct NameRow {
  Names theirs, ours;
  std::vector<Step> steps{};
  bool optional = false;  // files, and models that are exported, may lack it
};

/// What a placeholder such as "{norm}" stands for, theirs and ours: ("scale", "weight"), ...
struct Placeholder {
  std::string name;
  std::vector<std::pair<std::string, std::string>> values;
};

/// A part of names, such as "{fc1}", that some files of a source write in one way and some in
/// another. Export writes the first.
struct Spelling {
  std::string name;
  std::vector<std::string> ways;
};

/// Tensors (a pattern with *) that the model does not want, and why.
struct SkipRow {
  std::string pattern, reason;
  std::string beside{};  // only in files that have such a tensor too; "": in all
};

/// The table of a source. "{i}" in names is the number of a block; "{s}" and "{u}" are those of a
/// stage and of a unit in it, "{s+1}" and "{u+1}" the same counted from 1.
struct NameMap {
  std::string source;  // "a ViT with the names of timm"
  Names signature;     // patterns with *: a file that has a tensor for each is of this source
  std::vector<Placeholder> placeholders;
  std::vector<NameRow> rows;
  std::vector<SkipRow> skips{};
  std::string scope{};  // tensors whose names do not start so are none of the model
  Names prefixes = "";  // what may stand before all of their names
  /// The name of a better copy of a tensor, such as its moving average, which is taken if present.
  std::string (*preferred)(const std::string& name) = nullptr;
  std::vector<Spelling> spellings{};
  std::vector<SkipRow> refusals{};  // a file with such a tensor is of a model that we do not have
};

/// Whether the file has the names of this source.
bool recognises(const NameMap& map, const TensorFile& file);

/// A file read through a map. Building it finds prefix and blocks and refuses, by name, what is
/// missing and what has no row.
class MappedFile {
 public:
  MappedFile(const NameMap& map, const TensorFile& file, std::string origin);

  int64_t blocks() const { return blocks_; }
  /// How many units each stage has.
  const std::vector<int64_t>& units() const { return units_; }
  const std::string& origin() const { return origin_; }
  /// Whether the file has a tensor for one of our weights.
  bool provides(const std::string& ours) const;
  /// Our weights that optional rows would make and this file lacks.
  const std::vector<std::string>& absent() const { return absent_; }
  /// A dimension (-1: the last) of a tensor of theirs that has at least two.
  int64_t their_size(const std::string& theirs, int64_t dimension) const;
  /// The shape that one of our weights has in this file; throws unless it has `dimensions`.
  std::vector<int64_t> our_shape(const std::string& ours, int64_t dimensions) const;

  /// Our tensors under our names, for a model with these weights. One that does not fit is named
  /// with its shape and the expected one.
  TensorFile converted(const std::vector<WeightShape>& weights) const;
  /// What became of every tensor of the file.
  const Account& account() const { return account_; }

 private:
  void refuse_other_models() const;
  void drop_absent_rows();
  void check_names();
  /// Why a tensor is left out; null if it is not.
  const SkipRow* skip_of(const std::string& theirs) const;
  bool has_like(const std::string& pattern) const;
  bool has(const std::string& theirs) const { return index_.contains(theirs); }
  const torch::Tensor& stored(const std::string& theirs) const;
  torch::Tensor part_of(const NameRow& row, size_t part, const std::vector<int64_t>& wanted) const;

  NameMap map_;  // in the spelling of this file
  std::string origin_, prefix_;
  std::map<std::string, torch::Tensor> index_;  // the file's tensors
  int64_t blocks_ = 0;
  std::vector<int64_t> units_;
  std::vector<NameRow> rows_;  // without placeholders
  std::vector<std::string> absent_;
  Account account_;
};

/// The map backwards: our tensors under their names and in their layout, for a model with these
/// weights (all on the CPU). `heads` is needed by the steps that know heads. A weight that the map
/// has no name for throws.
NamedTensors exported(const NameMap& map, const NamedTensors& ours,
                      const std::vector<WeightShape>& weights, int64_t heads = 0);

}  // namespace vitrine
