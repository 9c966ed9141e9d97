// Data sets that are read from IDX files and from CIFAR's records.
#include "vitrine/data/idx.h"

#include <gtest/gtest.h>

#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"
#include "vitrine/core/archive.h"
#include "vitrine/data/checksum.h"
#include "vitrine/data/cifar10.h"
#include "vitrine/data/cifar100.h"
#include "vitrine/data/config.h"
#include "vitrine/data/fetch.h"
#include "vitrine/data/mnist.h"

namespace vitrine {
namespace {

constexpr int64_t kPixels = 3 * kCifar10Side * kCifar10Side;
constexpr int64_t kCifar100Record = 2 + kPixels;

/// An IDX file of bytes.
std::string idx_file(const std::vector<uint8_t>& shape, const std::string& values) {
  std::string file = {0, 0, 8, static_cast<char>(shape.size())};
  for (const auto length : shape) file += {0, 0, 0, static_cast<char>(length)};
  return file + values;
}

/// test.bin of CIFAR-100 with labels k, k + 1, ... and black images.
std::string cifar100_test_file(int64_t first_label) {
  std::string bytes(10000 * kCifar100Record, '\0');
  for (int64_t i = 0; i < 10000; ++i)
    bytes[i * kCifar100Record + 1] = static_cast<char>((first_label + i) % 100);
  return bytes;
}

DataConfig config_of(const std::string& name, const fs::path& root) {
  DataConfig config;
  config.dataset.choose(name);
  config.root = root;
  return config;
}

}  // namespace

TEST(Idx, ReadsImagesWithTheirLabels) {
  const auto images = idx_file({3, 2, 2}, "abcdefghijkl"), labels = idx_file({3}, {1, 0, 1});
  const auto data = idx_dataset(images, labels, 3, 2, {"no", "yes"}, "small");
  ASSERT_EQ(data->size(), 3);
  const auto last = data->get(2);
  EXPECT_EQ(last.label, 1);
  EXPECT_EQ(last.image.channels, 1);
  EXPECT_EQ(std::string(last.image.pixels.begin(), last.image.pixels.end()), "ijkl");
}

TEST(Idx, RefusesWhatIsNotSuchAFile) {
  const auto error = [](const std::string& images, const std::string& labels) {
    return test::error_of([&] { idx_dataset(images, labels, 2, 2, {"no", "yes"}, "small"); });
  };
  const auto images = idx_file({2, 2, 2}, "abcdefgh"), labels = idx_file({2}, {1, 0});
  EXPECT_TRUE(test::contains(error(images.substr(0, 20), labels),
                             "small (images) has 20 bytes instead of 24"));
  EXPECT_TRUE(
      test::contains(error(images, idx_file({2}, {1, 2})), "label 2 at 1 is none of the 2"));
  EXPECT_TRUE(test::contains(error(idx_file({2, 1, 4}, "abcdefgh"), labels), "length 1 instead"));
  auto floats = images;
  floats[2] = 13;
  EXPECT_TRUE(test::contains(error(floats, labels), "not an IDX file of bytes in 3 dimensions"));
}

TEST(ReadGzip, UnpacksWhatIsPackedAndRefusesWhatIsCutShort) {
  test::TemporaryFolder folder;
  const std::string text(1000, 'x');
  constexpr char kPacked[] =
      "\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\xab\xa8\x18\x05\xa3\x60"
      "\x14\x0c\x77\x00\x00\xe6\xc9\x41\x3b\xe8\x03\x00\x00";
  const std::string packed(kPacked, sizeof kPacked - 1);
  write_file_atomically(folder / "x.gz", packed);
  write_file_atomically(folder / "cut.gz", packed.substr(0, packed.size() / 2));
  write_file_atomically(folder / "plain", text);
  EXPECT_EQ(read_gzip(folder / "x.gz"), text);
  EXPECT_EQ(read_gzip(folder / "plain"), text);
  EXPECT_TRUE(test::contains(test::error_of([&] { read_gzip(folder / "cut.gz"); }), "cut.gz"));
}

TEST(Mnist, StoresNothingThatIsNotTheOfficialFiles) {
  test::TemporaryFolder folder;
  std::vector<ArchiveFile> files;
  const std::string content = "not the official bytes";
  make_folder(folder / "source");
  for (const std::string part : {"train", "t10k"})
    for (const std::string suffix : {"-images-idx3-ubyte", "-labels-idx1-ubyte"}) {
      files.push_back({"package/data/" + part + suffix, {content}});
      write_file_atomically(folder / "source" / (part + suffix + ".gz"), content);
    }
  write_zip(folder / "source.zip", files);
  for (const std::string source : {"source", "source.zip"}) {
    const auto error =
        test::error_of([&] { fetch_mnist(folder / "target", (folder / source).string()); });
    EXPECT_TRUE(test::contains(error, "is damaged: its md5 sum is not 2646ac647ad5339dbf08284"));
  }
  fs::remove(folder / "source" / "t10k-labels-idx1-ubyte.gz");
  EXPECT_TRUE(test::contains(
      test::error_of([&] { fetch_mnist(folder / "target", (folder / "source").string()); }),
      "md5"));
  EXPECT_FALSE(fs::exists(folder / "target"));
  const auto config = config_of("mnist", folder.path());
  EXPECT_TRUE(test::contains(test::error_of([&] { config.dataset->open(config, Split::Test); }),
                             "run `vitrine data fetch mnist`"));
}

TEST(CifarRecords, TakeTheLastLabelByteAndInterleaveThePlanes) {
  std::string record(kCifar100Record, '\0');
  record[0] = 19;
  record[1] = 3;
  const auto plane = kPixels / 3;
  record[2 + 5] = 10;              // red of pixel 5
  record[2 + plane + 5] = 20;      // green
  record[2 + 2 * plane + 5] = 30;  // blue
  MemoryDataset data(kCifar10Side, 3, {"a", "b", "c", "d"});
  add_cifar_records(data, record + record, /*label_bytes=*/2);
  ASSERT_EQ(data.size(), 2);
  EXPECT_EQ(data.label(1), 3);
  const auto image = data.get(1).image;
  EXPECT_EQ(std::vector<uint8_t>(image.at(5, 0), image.at(5, 0) + 3),
            (std::vector<uint8_t>{10, 20, 30}));
  record[1] = 4;
  EXPECT_TRUE(test::contains(test::error_of([&] { add_cifar_records(data, record, 2); }),
                             "label 4 is none of the 4"));
  EXPECT_TRUE(test::contains(test::error_of([&] { add_cifar_records(data, "abc", 2); }),
                             "3 bytes are no records of 3074"));
}

TEST(Cifar100, OpensAFileOfTheOfficialLayout) {
  test::TemporaryFolder folder;
  make_folder(folder / "cifar100");
  write_file_atomically(folder / "cifar100" / "test.bin", cifar100_test_file(7));
  const auto config = config_of("cifar100", folder.path());
  const auto data = config.dataset->open(config, Split::Test);
  EXPECT_EQ(data->size(), 10000);
  EXPECT_EQ(data->classes().size(), 100u);
  EXPECT_EQ(data->classes()[data->label(0)], "beetle");
  EXPECT_EQ(data->classes()[data->label(92)], "worm");
  EXPECT_EQ(config.dataset->open(config, Split::Validation), nullptr);
}

TEST(Cifar100, RefusesMissingAndWrongFiles) {
  test::TemporaryFolder folder;
  const auto config = config_of("cifar100", folder.path());
  const auto error = [&] {
    return test::error_of([&] { config.dataset->open(config, Split::Test); });
  };
  EXPECT_TRUE(test::contains(error(), "vitrine data fetch cifar100"));
  make_folder(folder / "cifar100");
  write_file_atomically(folder / "cifar100" / "test.bin", "short");
  EXPECT_TRUE(test::contains(error(), "has 5 bytes instead of 30740000"));
  auto bytes = cifar100_test_file(0);
  bytes[1] = 1;
  write_file_atomically(folder / "cifar100" / "test.bin", bytes);
  EXPECT_TRUE(test::contains(error(), "has 99 images of class 0 (apple) instead of 100"));
  EXPECT_TRUE(test::contains(
      test::error_of([&] { fetch_cifar100(folder / "target", (folder / "cifar100").string()); }),
      "holds no train.bin"));
}

TEST(Cifar100, WithADamagedPixelIsRefused) {
  test::TemporaryFolder folder;
  make_folder(folder / "cifar100");
  auto bytes = cifar100_test_file(0);
  write_file_atomically(folder / "cifar100" / "SHA256SUMS", sha256(bytes) + "  test.bin\n");
  const auto config = config_of("cifar100", folder.path());
  write_file_atomically(folder / "cifar100" / "test.bin", bytes);
  EXPECT_EQ(config.dataset->open(config, Split::Test)->size(), 10000);
  bytes.back() ^= 1;
  write_file_atomically(folder / "cifar100" / "test.bin", bytes);
  EXPECT_TRUE(test::contains(test::error_of([&] { config.dataset->open(config, Split::Test); }),
                             "test.bin is damaged"));
}

TEST(FetchFiles, AreFetchedAgainIfAStoredOneWasDamaged) {
  test::TemporaryFolder folder;
  make_folder(folder / "source");
  write_file_atomically(folder / "source" / "a", "text");
  const FetchPlan plan{.dataset = "some",
                       .files = {"a"},
                       .addresses = {},
                       .other_files = {},
                       .verify = [](const std::string&, const std::string&, const std::string&) {}};
  const auto fetch = [&] {
    return fetch_files(plan, folder / "data", (folder / "source").string());
  };
  fetch();
  EXPECT_TRUE(test::contains(fetch(), "nothing to do"));
  write_file_atomically(folder / "data" / "a", "tex\x75");
  EXPECT_TRUE(test::contains(fetch(), "stored in"));
  EXPECT_EQ(read_file(folder / "data" / "a"), "text");
}

}  // namespace vitrine
