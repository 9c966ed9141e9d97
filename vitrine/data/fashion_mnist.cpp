#include "vitrine/data/fashion_mnist.h"

#include "vitrine/core/error.h"
#include "vitrine/data/config.h"
#include "vitrine/data/fetch.h"
#include "vitrine/data/idx.h"

namespace vitrine {
namespace {

constexpr const char* kDebianFolder = "/usr/share/datasets/fashion-mnist";
constexpr const char* kFashionMnistRemedy =
    "install Debian's package dataset-fashion-mnist, or run `vitrine data fetch fashion_mnist "
    "--from FOLDER` with a folder of the four files";
constexpr int64_t kSide = 28;

fs::path own_folder(const DataConfig& config) { return data_root(config) / "fashion_mnist"; }

fs::path fashion_mnist_folder(const DataConfig& config) {
  return fs::exists(own_folder(config)) ? own_folder(config) : fs::path(kDebianFolder);
}

std::unique_ptr<Dataset> open_folder(const fs::path& folder, Split split) {
  if (split == Split::Validation) return nullptr;
  const std::string prefix = split == Split::Train ? "train" : "t10k";
  const auto read = [&](const char* suffix) {
    const auto path = folder / (prefix + suffix);
    check(fs::exists(path), "{} is missing", path.string());
    return read_gzip(path);
  };
  try {
    const auto labels = read("-labels-idx1-ubyte.gz"), images = read("-images-idx3-ubyte.gz");
    return idx_dataset(images, labels, split == Split::Train ? 60000 : 10000, kSide,
                       {"T-shirt", "trouser", "pullover", "dress", "coat", "sandal", "shirt",
                        "sneaker", "bag", "ankle boot"},
                       (folder / prefix).string());
  } catch (const Error& e) {
    fail("fashion_mnist: {}; {}", e.what(), kFashionMnistRemedy);
  }
}

std::string fetch_fashion_mnist(const DataConfig& config, const std::string& source) {
  const auto folder = source.empty() ? fashion_mnist_folder(config) : fs::path(source);
  for (const auto split : {Split::Train, Split::Test}) open_folder(folder, split);
  if (source.empty())
    return fmt::format("fashion_mnist: {} is complete, nothing to do", folder.string());
  const auto target = own_folder(config);
  make_folder(target);
  for (const char* prefix : {"train", "t10k"})
    for (const char* suffix : {"-images-idx3-ubyte.gz", "-labels-idx1-ubyte.gz"}) {
      const auto file = std::string(prefix) + suffix;
      write_file_atomically(target / file, read_file(folder / file));
    }
  return fmt::format("fashion_mnist: stored in {} from {}", target.string(), source);
}

class FashionMnist : public DatasetOf<FashionMnist> {
 public:
  std::optional<ImageTraits> images() const override {
    return ImageTraits{.side = kSide, .channels = 1, .mean = {0.2860}, .std = {0.3530}};
  }
  std::unique_ptr<Dataset> open(const DataConfig& config, Split split) const override {
    return open_folder(fashion_mnist_folder(config), split);
  }
  bool stratified() const override { return false; }  // as with CIFAR-10
  std::string fetch(const DataConfig& config, const std::string& source) const override {
    return fetch_fashion_mnist(config, source);
  }
};

}  // namespace

DatasetEntry fashion_mnist_dataset() {
  return {"Fashion-MNIST: 60,000 + 10,000 grey images of 28 x 28, 10 classes",
          std::make_shared<FashionMnist>()};
}

}  // namespace vitrine
