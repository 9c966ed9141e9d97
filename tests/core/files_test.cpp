#include "vitrine/core/files.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cerrno>
#include <csignal>

#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"

namespace vitrine {

TEST(Files, WritesAndReadsBack) {
  test::TemporaryFolder folder;
  write_file_atomically(folder / "a", "text");
  EXPECT_EQ(read_file(folder / "a"), "text");
}

TEST(Files, AFailedWriteKeepsTheOldFileAndLeavesNothingBehind) {
  test::TemporaryFolder folder;
  write_file_atomically(folder / "a", "old");
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit before;
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small = {1000, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  const auto message =
      test::error_of([&] { write_file_atomically(folder / "a", std::string(5000, 'x')); });
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_TRUE(test::contains(message, "free space"));
  EXPECT_EQ(read_file(folder / "a"), "old");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), {}), 1);
}

TEST(Files, AFailedWriteTellsItsCause) {
  test::TemporaryFolder folder;
  fs::create_directory(folder / "a");
  errno = 0;
  const auto message = test::error_of([&] { write_file_atomically(folder / "a", "text"); });
  EXPECT_TRUE(test::contains(message, "Is a directory"));
}

TEST(Files, APathThatCannotBeFollowedIsNamedWithTheCause) {
  test::TemporaryFolder folder;
  fs::create_symlink(folder / "loop", folder / "loop");
  EXPECT_TRUE(test::contains(test::error_of([&] { read_file(folder / "loop"); }),
                             "loop: Too many levels of symbolic links"));
  EXPECT_TRUE(test::contains(test::error_of([] { read_file(std::string(5000, 'x')); }),
                             "File name too long"));
}

TEST(Files, NamesTheFileThatCannotBeRead) {
  EXPECT_TRUE(test::contains(test::error_of([] { read_file("/no/such/file"); }), "/no/such/file"));
  EXPECT_TRUE(test::contains(test::error_of([] { read_file("/tmp"); }), "is a folder"));
  EXPECT_TRUE(test::contains(test::error_of([] { read_file("/dev/zero"); }), "is a device"));
}

}  // namespace vitrine
