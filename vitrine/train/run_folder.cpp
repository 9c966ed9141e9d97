#include "vitrine/train/run_folder.h"

#include <fmt/chrono.h>

#include <ctime>

#include "vitrine/core/error.h"
#include "vitrine/core/file_writing.h"

namespace vitrine {

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
  RunFolder folder(path);
  check(!fs::exists(folder.recipe()),
        "run: {} holds a run already; resume it with --resume, or remove it", path.string());
  make_folder(path / "checkpoints");
  return folder;
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
