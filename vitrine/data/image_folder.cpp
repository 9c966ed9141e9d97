#include "vitrine/data/image_folder.h"

#include <algorithm>

#include "vitrine/core/error.h"
#include "vitrine/core/files.h"
#include "vitrine/core/image_files.h"
#include "vitrine/plot/text.h"

namespace vitrine {
namespace {

bool is_image_file(const fs::directory_entry& entry) {
  return entry.is_regular_file() && has_image_extension(entry.path());
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
  check(names.size() >= 2, "folder: {} has {}, expected one for each of 2 or more classes",
        folder.string(), counted(std::ssize(names), "class folder"));
  return names;
}

class ImageFolder : public Dataset {
 public:
  ImageFolder(const fs::path& folder, std::vector<std::string> classes)
      : classes_(std::move(classes)) {
    for (size_t label = 0; label < classes_.size(); ++label) {
      const auto inside = folder / classes_[label];
      check(fs::is_directory(inside), "folder: class folder {} is missing", inside.string());
      const auto files = entries(inside, is_image_file);
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
  void read_smaller(int64_t index, int64_t enough, Image& image) const override {
    image = read_image(files_.at(index), enough);
  }
  std::string file(int64_t index) const override { return files_.at(index).string(); }

 private:
  std::vector<std::string> classes_;
  std::vector<fs::path> files_;
  std::vector<int64_t> labels_;
};

/// A split of FOLDER/train, FOLDER/val, FOLDER/test; nothing if there is no such folder.
std::unique_ptr<Dataset> open_split(const fs::path& folder, Split split) {
  const auto train = folder / "train";
  const auto classes = class_names(train);
  if (split == Split::Train) return std::make_unique<ImageFolder>(train, classes);
  const std::vector<std::string> names = split == Split::Test
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

/// What of the class folders in `folder` is not read, by kind.
void count_skipped(const fs::path& folder, std::map<std::string, int64_t>& counts) {
  for (const auto& name : class_names(folder))
    for (const auto& path :
         entries(folder / name, [](const auto& e) { return !is_image_file(e); })) {
      const auto extension = lower_extension(path);
      ++counts[fs::is_directory(path) ? "folder" : extension.empty() ? "no extension" : extension];
    }
}

struct FolderSettings {
  std::string path;

  void visit(Fields& f) { f.path("path", path, "the images: one folder per class"); }
  void validate() const {}
};

class ImageFolderData : public DatasetOf<ImageFolderData, FolderSettings> {
 public:
  std::optional<ImageTraits> images() const override {
    return ImageTraits{
        .side = 0, .channels = 3, .mean = {0.485, 0.456, 0.406}, .std = {0.229, 0.224, 0.225}};
  }
  std::unique_ptr<Dataset> open(const DataConfig&, Split split) const override {
    const auto folder = checked_folder();
    if (fs::is_directory(folder / "train")) return open_split(folder, split);
    if (split != Split::Train) return nullptr;
    return std::make_unique<ImageFolder>(folder, class_names(folder));
  }
  std::map<std::string, int64_t> skipped_files() const override {
    const auto folder = checked_folder();
    std::map<std::string, int64_t> counts;
    if (!fs::is_directory(folder / "train")) {
      count_skipped(folder, counts);
      return counts;
    }
    for (const auto* split : {"train", "val", "validation", "test"})
      if (fs::is_directory(folder / split)) count_skipped(folder / split, counts);
    return counts;
  }
  std::string fetch(const DataConfig&, const std::string&) const override {
    return fmt::format("folder: {} is your own, nothing to fetch", checked_folder().string());
  }

 private:
  fs::path checked_folder() const {
    check(!settings.path.empty(),
          "folder: no folder of images is given; set data.dataset.path to a folder with one folder "
          "per class");
    check(fs::is_directory(settings.path), "folder: {} is not a folder", settings.path);
    return settings.path;
  }
};

}  // namespace

DatasetEntry image_folder_dataset() {
  return {"your own JPEG, PNG and WebP files, one folder per class (path=FOLDER)",
          std::make_shared<ImageFolderData>()};
}

}  // namespace vitrine
