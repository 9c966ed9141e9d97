#include "vitrine/train/run_folder.h"

#include <fmt/chrono.h>

#include <algorithm>
#include <cctype>
#include <ctime>

#include "vitrine/core/error.h"

namespace vitrine {
namespace {

/// Whether the name is that of a file that `write_file_atomically` had not yet moved to its place:
/// NAME.PROCESS.tmp.
bool is_half_written(const fs::path& path) {
  const auto process = path.stem().extension().string();
  return path.extension() == ".tmp" && process.size() > 1 &&
         std::all_of(process.begin() + 1, process.end(),
                     [](unsigned char c) { return std::isdigit(c); });
}

}  // namespace

RunFolder RunFolder::create(const fs::path& root, const std::string& name) {
  make_folder(root);
  const auto stem = fmt::format("{}-{:%Y%m%d-%H%M%S}", name, fmt::localtime(std::time(nullptr)));
  auto path = root / stem;
  std::error_code error;
  for (int i = 2; !fs::create_directory(path, error); ++i) {
    check(!error, "run: cannot make folder {}: {}", path.string(), error.message());
    path = root / fmt::format("{}-{}", stem, i);
  }
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
  for (const auto& folder : {path_, path_ / "checkpoints"})
    for (const auto& entry : fs::directory_iterator(folder))
      if (is_half_written(entry.path())) fs::remove(entry.path());
}

RunFolder RunFolder::open(const fs::path& path) {
  RunFolder folder(path);
  check(fs::exists(folder.recipe()), "run: {} is not a run folder: it has no recipe.yaml",
        path.string());
  return folder;
}

}  // namespace vitrine
