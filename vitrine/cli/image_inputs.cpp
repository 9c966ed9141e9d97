#include "vitrine/cli/image_inputs.h"

#include <algorithm>

#include "vitrine/core/error.h"
#include "vitrine/core/image_files.h"

namespace vitrine::cli {
namespace {

void collect_images(const fs::path& folder, const std::string& who, std::vector<fs::path>& files) {
  std::vector<fs::path> entries, folders;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error))
    if (!entry->path().filename().string().starts_with('.')) entries.push_back(entry->path());
  check(!error, "{}: cannot read folder {}: {}", who, folder.string(), error.message());
  std::sort(entries.begin(), entries.end());
  for (const auto& path : entries)
    if (fs::is_directory(fs::symlink_status(path, error)))
      folders.push_back(path);
    else if (has_image_extension(path))
      files.push_back(path);
  for (const auto& inside : folders) collect_images(inside, who, files);
}

}  // namespace

std::vector<fs::path> image_files_of(const std::vector<std::string>& inputs,
                                     const std::string& who) {
  std::vector<fs::path> files;
  for (const auto& input : inputs) {
    std::error_code error;
    if (!fs::is_directory(input, error)) {
      files.emplace_back(input);
      continue;
    }
    const auto before = files.size();
    collect_images(input, who, files);
    check(files.size() > before, "{}: folder {} holds no .jpg, .jpeg, .png or .webp files", who,
          input);
  }
  return files;
}

}  // namespace vitrine::cli
