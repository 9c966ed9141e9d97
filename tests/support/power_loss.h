#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tests/support/file_calls.h"

namespace vitrine::test {

/// What a folder holds, by path; folders end in "/".
using FolderContent = std::map<std::string, std::string>;

/// A disk under power failure, as pessimistic as POSIX allows for the calls that are used:
/// - Data that were written since the file's last fsync are there, or not, or half of them, or the
///   file is longer but holds zeros.
/// - Names that were made, linked or renamed since the last fsync of their folder are there or not,
///   each by itself and whatever came before or after; a rename is done as a whole or not at all.
/// - An fsync of a file does not keep its name, nor one of a folder the data of its files.
class PowerLoss {
 public:
  /// `folder` itself is on the disk, and empty.
  explicit PowerLoss(const fs::path& folder);

  void apply(const FileCall& call);
  /// Everything that the disk may hold if the power fails now.
  std::set<FolderContent> possible_contents() const;

 private:
  using Names = std::map<std::string, size_t>;  // path and its node

  struct Node {
    bool is_folder = false;
    std::string on_disk{}, written{};
    std::vector<std::string> possible_data() const;
  };
  /// Names that change together; those without a node disappear.
  struct NameChange {
    std::string folder;
    std::map<std::string, std::optional<size_t>> names;
  };

  size_t new_node(bool is_folder);
  void change(NameChange change);
  static void make(Names& names, const NameChange& change);
  void sync(const std::string& path);
  std::vector<FolderContent> contents_with(const Names& names) const;

  const std::string root_;
  std::vector<Node> nodes_;
  Names on_disk_, now_;
  std::vector<NameChange> pending_;  // in order
};

}  // namespace vitrine::test
