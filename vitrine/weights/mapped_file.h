#pragma once

#include <map>
#include <string>
#include <vector>

#include "vitrine/weights/account.h"
#include "vitrine/weights/name_map.h"

namespace vitrine {

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

}  // namespace vitrine
