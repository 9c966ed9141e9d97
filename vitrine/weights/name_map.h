#pragma once

// Weights published by others have their own names and layouts. A name map is the table between
// theirs and ours: one per source and family of models, read from top to bottom.

#include <initializer_list>
#include <string>
#include <vector>

#include "vitrine/formats/safetensors.h"
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
  FromRank4,   // (1, 1, 1, C) -> (C); (C) is taken as well
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
/// stage and of a unit in it, "{s+1}" and "{u+1}" the same counted from 1, "{2s+1}" every second
/// number.
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

/// How many of a model's weights the map names, less those that it asks for and the model lacks.
int64_t fit_of(const NameMap& map, const NamedTensors& ours);

/// The map backwards: our tensors under their names and in their layout, for a model with these
/// weights (all on the CPU). `heads` is needed by the steps that know heads. A weight that the map
/// has no name for throws.
NamedTensors exported(const NameMap& map, const NamedTensors& ours,
                      const std::vector<WeightShape>& weights, int64_t heads = 0);

}  // namespace vitrine
