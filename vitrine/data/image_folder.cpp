#include "vitrine/data/image_folder.h"

#include <algorithm>

#include "vitrine/core/error.h"
#include "vitrine/core/image_files.h"
#include "vitrine/plot/text.h"

namespace vitrine {
namespace {

bool is_picture(const fs::path& path) {
  auto extension = path.extension().string();
  std::transform(extension.begin(), extension.end(), extension.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  return extension == ".jpg" || extension == ".jpeg" || extension == ".png" || extension == ".webp";
}

/// Sorted entries that `wanted` accepts, without hidden ones.
template <typename Wanted>
std::vector<fs::path> entries(const fs::path& folder, Wanted&& wanted) {
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(folder))
    if (!entry.path().filename().string().starts_with('.') && wanted(entry))
      found.push_back(entry.path());
  std::sort(found.begin(), found.end());
  return found;
}

std::vector<std::string> class_names(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& path : entries(folder, [](const auto& e) { return e.is_directory(); }))
    names.push_back(path.filename().string());
  for (const auto& name : names)
    check(plot::clean_text(name) == name,
          "folder: the name of a class folder in {} is not plain UTF-8; rename it",
          folder.string());
  check(names.size() >= 2,
        "folder: {} has {} class folders, expected one for each of 2 or more "
        "classes",
        folder.string(), names.size());
  return names;
}

class ImageFolder : public Dataset {
 public:
  ImageFolder(const fs::path& folder, std::vector<std::string> classes)
      : classes_(std::move(classes)) {
    for (size_t label = 0; label < classes_.size(); ++label) {
      const auto inside = folder / classes_[label];
      check(fs::is_directory(inside), "folder: class folder {} is missing", inside.string());
      const auto files = entries(
          inside, [](const auto& e) { return e.is_regular_file() && is_picture(e.path()); });
      check(!files.empty(),
            "folder: class folder {} holds no .jpg, .png or .webp files; fill or remove it",
            inside.string());
      files_.insert(files_.end(), files.begin(), files.end());
      labels_.resize(files_.size(), static_cast<int64_t>(label));
    }
  }

  int64_t size() const override { return static_cast<int64_t>(files_.size()); }
  const std::vector<std::string>& classes() const override { return classes_; }
  int64_t label(int64_t index) const override { return labels_.at(index); }
  void read(int64_t index, Image& image) const override { image = read_image(files_.at(index)); }

 private:
  std::vector<std::string> classes_;
  std::vector<fs::path> files_;
  std::vector<int64_t> labels_;
};

fs::path checked_folder(const DataConfig& config) {
  check(!config.folder.empty(),
        "folder: no folder of pictures is given; set data.folder to a folder with one folder per "
        "class");
  check(fs::is_directory(config.folder), "folder: {} is not a folder", config.folder);
  return config.folder;
}

std::unique_ptr<Dataset> open(const DataConfig& config, Part part) {
  const auto folder = checked_folder(config);
  const auto train = folder / "train";
  if (!fs::is_directory(train)) {
    if (part != Part::Train) return nullptr;
    return std::make_unique<ImageFolder>(folder, class_names(folder));
  }
  const auto classes = class_names(train);
  if (part == Part::Train) return std::make_unique<ImageFolder>(train, classes);
  const std::vector<std::string> names = part == Part::Test
                                             ? std::vector<std::string>{"test"}
                                             : std::vector<std::string>{"val", "validation"};
  for (const auto& name : names) {
    if (!fs::is_directory(folder / name)) continue;
    for (const auto& known : class_names(folder / name))
      check(std::find(classes.begin(), classes.end(), known) != classes.end(),
            "folder: class '{}' of {} is not among those of {}", known, (folder / name).string(),
            train.string());
    return std::make_unique<ImageFolder>(folder / name, classes);
  }
  return nullptr;
}

}  // namespace

DatasetEntry image_folder_entry() {
  return {.summary = "your own JPEG, PNG and WebP files, one folder per class (folder=PATH)",
          .traits =
              [](const DataConfig&) {
                return DatasetTraits{.image = 0,
                                     .channels = 3,
                                     .mean = {0.485, 0.456, 0.406},
                                     .std = {0.229, 0.224, 0.225}};
              },
          .open = open,
          .fetch =
              [](const DataConfig& config, const std::string&) {
                return fmt::format("folder: {} is your own, nothing to fetch",
                                   checked_folder(config).string());
              }};
}

}  // namespace vitrine
