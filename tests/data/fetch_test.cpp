#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"
#include "vitrine/core/error.h"
#include "vitrine/data/cifar10.h"
#include "vitrine/data/config.h"
#include "vitrine/data/process.h"

namespace vitrine {
namespace {

constexpr auto kBatchBytes = kCifar10Records * kCifar10RecordBytes;

/// Runs `body` with the environment variable set, then puts it back.
template <typename F>
void with_variable(const char* name, const std::string& value, F&& body) {
  const char* before = std::getenv(name);
  const std::string saved = before ? before : "";
  setenv(name, value.c_str(), 1);
  body();
  before ? setenv(name, saved.c_str(), 1) : unsetenv(name);
}

std::string open_error(const fs::path& root) {
  DataConfig c;
  c.root = root;
  return test::error_of([&] { c.dataset->open(c, Split::Test); });
}

}  // namespace

TEST(Cifar10, SaysWhatToFetchIfFilesAreMissing) {
  test::TemporaryFolder folder;
  const auto message = open_error(folder.path());
  EXPECT_TRUE(test::contains(message, "test_batch.bin is missing"));
  EXPECT_TRUE(test::contains(message, "vitrine data fetch cifar10"));
}

TEST(Cifar10, SaysWhatToFetchIfAFileIsCutShort) {
  test::TemporaryFolder folder;
  make_folder(folder / "cifar10");
  write_file_atomically(folder / "cifar10" / "test_batch.bin", std::string(1000, 'x'));
  const auto message = open_error(folder.path());
  EXPECT_TRUE(test::contains(message, "has 1000 bytes instead of 30730000"));
  EXPECT_TRUE(test::contains(message, "vitrine data fetch cifar10"));
}

TEST(Cifar10, SaysWhatToFetchIfAFileIsDamaged) {
  test::TemporaryFolder folder;
  make_folder(folder / "cifar10");
  write_file_atomically(folder / "cifar10" / "test_batch.bin", std::string(kBatchBytes, 'x'));
  const auto message = open_error(folder.path());
  EXPECT_TRUE(test::contains(message, "is damaged"));
  EXPECT_TRUE(test::contains(message, "vitrine data fetch cifar10"));
}

TEST(FetchCifar10, StoresNothingFromADamagedSource) {
  test::TemporaryFolder folder;
  make_folder(folder / "source");
  for (const auto& batch : cifar10_batches())
    write_file_atomically(folder / "source" / batch.file, std::string(100, 'x'));
  const auto message =
      test::error_of([&] { fetch_cifar10(folder / "target", (folder / "source").string()); });
  EXPECT_TRUE(test::contains(message, "data_batch_1.bin"));
  EXPECT_TRUE(test::contains(message, "md5"));
  EXPECT_FALSE(fs::exists(folder / "target"));
}

TEST(FetchCifar10, RefusesSourcesThatAreNoCifar10) {
  test::TemporaryFolder folder;
  const auto error = [&](const fs::path& source) {
    return test::error_of([&] { fetch_cifar10(folder / "target", source.string()); });
  };
  EXPECT_TRUE(test::contains(error("/no/such.tar.gz"), "/no/such.tar.gz does not exist"));
  EXPECT_TRUE(test::contains(error(folder.path()), "holds no data_batch_1.bin"));
  write_file_atomically(folder / "text.tar.gz", "just text");
  EXPECT_TRUE(test::contains(error(folder / "text.tar.gz"), "text.tar.gz"));
}

TEST(FetchCifar10, TellsBothCausesWhereNeitherNetworkNorNpmHelps) {
  test::TemporaryFolder folder;
  // A proxy that refuses connections keeps libcurl off the network; an empty PATH hides npm.
  std::string message;
  with_variable("https_proxy", "http://127.0.0.1:9", [&] {
    with_variable("PATH", folder.path().string(),
                  [&] { message = test::error_of([&] { fetch_cifar10(folder / "target", ""); }); });
  });
  EXPECT_TRUE(test::contains(message, "cs.toronto.edu"));
  EXPECT_TRUE(test::contains(message, "cannot start 'npm'"));
  EXPECT_TRUE(test::contains(message, "--from"));
  EXPECT_TRUE(fs::is_empty(folder / "target"));
}

TEST(Process, CapturesBothOutputsAndTheStatus) {
  test::TemporaryFolder folder;
  const auto result = run_process({"sh", "-c", "pwd; echo oops >&2; exit 3"}, folder.path());
  EXPECT_EQ(result.status, 3);
  EXPECT_TRUE(test::contains(result.output, folder.path().string()));
  EXPECT_TRUE(test::contains(result.output, "oops"));
}

}  // namespace vitrine
