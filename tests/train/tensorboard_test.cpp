#include "vitrine/train/tensorboard.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>

#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"

namespace vitrine {
namespace {

// Length, its CRC, the content's CRC.
constexpr size_t kFrameBytes = 16;
// Tag of the field and a double, at the start of each content.
constexpr size_t kWallTimeAt = 12, kWallTimeBytes = 9;

size_t record_bytes(const std::string& file, size_t at) {
  uint64_t length = 0;
  std::memcpy(&length, file.data() + at, sizeof length);
  return length + kFrameBytes;
}

/// Complete records from the start of a file.
int64_t count_records(const std::string& file) {
  int64_t records = 0;
  for (size_t at = 0; at + kFrameBytes <= file.size(); ++records) at += record_bytes(file, at);
  return records;
}

}  // namespace

TEST(EventWriter, WritesTheBytesThatAForeignWriterWrites) {
  test::TemporaryFolder folder;
  EventWriter writer(folder.path());
  writer.scalar("train/loss", 0, 2.3025851, 1700000000.25);
  writer.scalar("train/loss", 1, 0, 1700000001.5);
  writer.scalar("정확도", 1000000000000, -1.5e-7, 1700000002);
  writer.flush();
  const auto ours = read_file(writer.path());
  const auto foreign = read_file(VITRINE_SOURCE_DIR "/tests/fixtures/foreign.tfevents");
  ASSERT_EQ(ours.size(), foreign.size());
  // The first record holds the time of its making, hence also another CRC at its end.
  const size_t first = record_bytes(foreign, 0);
  const size_t version_at = kWallTimeAt + kWallTimeBytes;
  EXPECT_EQ(ours.substr(0, kWallTimeAt + 1), foreign.substr(0, kWallTimeAt + 1));
  EXPECT_EQ(ours.substr(version_at, first - 4 - version_at),
            foreign.substr(version_at, first - 4 - version_at));
  EXPECT_EQ(ours.substr(first), foreign.substr(first));
}

TEST(EventWriter, NamesItsFileSoThatTensorBoardFindsIt) {
  test::TemporaryFolder folder;
  EventWriter writer(folder / "new" / "folder");
  EXPECT_TRUE(writer.path().filename().string().starts_with("events.out.tfevents."));
  EXPECT_TRUE(fs::exists(writer.path()));
}

TEST(EventWriter, NeverWritesIntoTheFileOfAnother) {
  test::TemporaryFolder folder;
  EventWriter a(folder.path()), b(folder.path()), c(folder.path());
  EXPECT_NE(a.path(), b.path());
  EXPECT_NE(b.path(), c.path());
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), {}), 3);
}

TEST(EventWriter, LosesNothingWhenTheProcessIsKilled) {
  test::TemporaryFolder folder;
  const pid_t child = ::fork();
  if (child == 0) {
    EventWriter writer(folder.path());
    for (int64_t step = 0; step < 100; ++step) writer.scalar("loss", step, 1.0, 1.7e9);
    ::raise(SIGKILL);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(count_records(read_file(fs::directory_iterator(folder.path())->path())), 101);
}

TEST(EventWriter, LeavesOnlyCompleteRecordsWhenTheDiskIsFullAndGoesOnAfterwards) {
  test::TemporaryFolder folder;
  EventWriter writer(folder.path());
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit before;
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small = {100, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  int64_t written = 1;
  const auto message = test::error_of([&] {
    for (; written < 100; ++written) writer.scalar("loss", written, 1.0, 1.7e9);
  });
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_TRUE(test::contains(message, writer.path().string()));
  EXPECT_TRUE(test::contains(message, "free space, earlier records are untouched"));
  writer.scalar("loss", 7, 1.0, 1.7e9);
  const auto file = read_file(writer.path());
  size_t at = 0;
  for (int64_t record = 0; record <= written; ++record) at += record_bytes(file, at);
  EXPECT_EQ(at, file.size());
}

TEST(EventWriter, SaysWhichFolderItCannotWriteTo) {
  EXPECT_TRUE(
      test::contains(test::error_of([] { EventWriter("/proc/vitrine"); }), "/proc/vitrine"));
}

}  // namespace vitrine
