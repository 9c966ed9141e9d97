#include "vitrine/data/fashion_mnist.h"

#include <zlib.h>

#include "vitrine/core/error.h"
#include "vitrine/data/config.h"

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

std::string unzip(const fs::path& path) {
  check(fs::exists(path), "fashion_mnist: {} is missing; {}", path.string(), kFashionMnistRemedy);
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen(path.c_str(), "rb"), gzclose);
  check(file != nullptr, "fashion_mnist: cannot open {}", path.string());
  std::string bytes;
  char buffer[1 << 16];
  for (int count; (count = gzread(file.get(), buffer, sizeof buffer)) != 0;) {
    check(count > 0, "fashion_mnist: {} is damaged; {}", path.string(), kFashionMnistRemedy);
    bytes.append(buffer, count);
  }
  int state = Z_OK;
  gzerror(file.get(), &state);
  check(state == Z_OK, "fashion_mnist: {} is cut short; {}", path.string(), kFashionMnistRemedy);
  return bytes;
}

/// The values of an IDX file: 4 bytes of magic, then each dimension as a big-endian int32.
std::string read_idx(const fs::path& path, const std::vector<int64_t>& shape) {
  const auto bytes = unzip(path);
  const size_t header = 4 + 4 * shape.size();
  int64_t values = 1;
  for (const auto length : shape) values *= length;
  check(bytes.size() == header + values, "fashion_mnist: {} has {} bytes instead of {}; {}",
        path.string(), bytes.size(), header + values, kFashionMnistRemedy);
  for (size_t d = 0; d < shape.size(); ++d) {
    uint32_t length = 0;
    for (int i = 0; i < 4; ++i) length = length << 8 | static_cast<uint8_t>(bytes[4 + 4 * d + i]);
    check(length == shape[d], "fashion_mnist: {} has length {} instead of {}; {}", path.string(),
          length, shape[d], kFashionMnistRemedy);
  }
  return bytes.substr(header);
}

std::unique_ptr<Dataset> open_folder(const fs::path& folder, Split split) {
  if (split == Split::Validation) return nullptr;
  const std::vector<std::string> classes = {"T-shirt", "trouser",   "pullover", "dress",
                                            "coat",    "sandal",    "shirt",    "sneaker",
                                            "bag",     "ankle boot"};
  const std::string prefix = split == Split::Train ? "train" : "t10k";
  const int64_t count = split == Split::Train ? 60000 : 10000;
  const auto labels = read_idx(folder / (prefix + "-labels-idx1-ubyte.gz"), {count});
  const auto pixels = read_idx(folder / (prefix + "-images-idx3-ubyte.gz"), {count, kSide, kSide});
  auto data = std::make_unique<MemoryDataset>(kSide, 1, classes);
  data->reserve(count);
  for (int64_t i = 0; i < count; ++i) {
    const auto label = static_cast<uint8_t>(labels[i]);
    check(label < classes.size(), "fashion_mnist: label {} in {}; {}", label, folder.string(),
          kFashionMnistRemedy);
    data->add(reinterpret_cast<const uint8_t*>(pixels.data()) + i * kSide * kSide, label);
  }
  return data;
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

DatasetEntry fashion_mnist_entry() {
  return {"Fashion-MNIST: 60,000 + 10,000 grey images of 28 x 28, 10 classes",
          std::make_shared<FashionMnist>()};
}

}  // namespace vitrine
