#include "vitrine/train/run_folder.h"

#include <fmt/chrono.h>
#include <sys/stat.h>

#include <ctime>

#include "vitrine/core/error.h"
#include "vitrine/core/file_writing.h"

namespace vitrine {
namespace {

/// Zeros if there is no such folder.
std::pair<uint64_t, uint64_t> identity_of(const fs::path& folder) {
  struct stat status {};
  if (::stat(folder.c_str(), &status) != 0) return {};
  return {status.st_dev, status.st_ino};
}

}  // namespace

RunFolder::RunFolder(fs::path path) : path_(std::move(path)), identity_(identity_of(path_)) {}

RunFolder RunFolder::create(const fs::path& root, const std::string& name) {
  make_folder(root);
  const auto stem = fmt::format("{}-{:%Y%m%d-%H%M%S}", name, fmt::localtime(std::time(nullptr)));
  auto path = root / stem;
  std::error_code error;
  for (int i = 2; !fs::create_directory(path, error); ++i) {
    check(!error, "run: cannot make folder {}: {}", path.string(), error.message());
    path = root / fmt::format("{}-{}", stem, i);
  }
  sync_folder(root);
  make_folder(path / "checkpoints");
  return RunFolder(path);
}

RunFolder RunFolder::create_at(const fs::path& path) {
  make_folder(path);
  RunFolder folder(path);
  check(!fs::exists(folder.recipe()),
        "run: {} holds a run already; resume it with --resume, or remove it", path.string());
  make_folder(path / "checkpoints");
  return folder;
}

void RunFolder::check_in_place() const {
  check(identity_of(path_) == identity_,
        "run: the folder {} was moved, removed or replaced while the run was at work there",
        path_.string());
}

void RunFolder::remove_leftovers() const {
  for (const auto& folder : {path_, path_ / "checkpoints"}) remove_half_written(folder);
}

RunFolder RunFolder::open(const fs::path& path) {
  RunFolder folder(path);
  check(fs::exists(folder.recipe()), "run: {} is not a run folder: it has no recipe.yaml",
        path.string());
  return folder;
}

}  // namespace vitrine
