#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "vitrine/core/files.h"

namespace vitrine {

/// Where a run keeps what it makes.
class RunFolder {
 public:
  /// Makes `root`/NAME-YYYYMMDD-HHMMSS; a number is added if that exists.
  static RunFolder create(const fs::path& root, const std::string& name);
  /// Makes exactly `path`; throws if it holds a run already.
  static RunFolder create_at(const fs::path& path);
  /// An existing run; throws if it holds no recipe.
  static RunFolder open(const fs::path& path);

  const fs::path& path() const { return path_; }
  fs::path recipe() const { return path_ / "recipe.yaml"; }
  fs::path metrics() const { return path_ / "metrics.jsonl"; }
  fs::path result() const { return path_ / "result.json"; }
  /// What a classifier answered to the test split (train/predictions.h).
  fs::path predictions() const { return path_ / "predictions.json"; }
  fs::path best() const { return path_ / "checkpoints" / "best.safetensors"; }
  fs::path last() const { return path_ / "checkpoints" / "last.safetensors"; }
  /// What a resume needs: weights, moments, averages and the position in the run, in one file.
  fs::path resume() const { return path_ / "checkpoints" / "resume.safetensors"; }
  /// The resume state before that one.
  fs::path previous_resume() const { return path_ / "checkpoints" / "resume.previous.safetensors"; }

  /// Removes files that a killed process left half-written.
  void remove_leftovers() const;
  /// Throws if the folder is no longer the one that was made or opened: moved, removed, or another
  /// of the same name.
  void check_in_place() const;

 private:
  explicit RunFolder(fs::path path);
  fs::path path_;
  std::pair<uint64_t, uint64_t> identity_;  // file system and number within it
};

}  // namespace vitrine
