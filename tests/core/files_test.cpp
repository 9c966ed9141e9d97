#include "vitrine/core/files.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <thread>

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

TEST(Files, APipeThatNobodyWritesToHasItsEndAtOnce) {
  test::TemporaryFolder folder;
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_EQ(read_file(folder / "pipe"), "");
}

TEST(Files, APipeIsReadToItsEnd) {
  int ends[2] = {};
  ASSERT_EQ(::pipe(ends), 0);
  std::thread writer([&] {
    const std::string text(100000, 'x');  // more than a pipe holds
    for (size_t done = 0; done < text.size();) {
      const auto count = ::write(ends[1], text.data() + done, text.size() - done);
      if (count > 0) done += static_cast<size_t>(count);
    }
    ::close(ends[1]);
  });
  const auto text = read_file(fmt::format("/dev/fd/{}", ends[0]));
  writer.join();
  ::close(ends[0]);
  EXPECT_EQ(text, std::string(100000, 'x'));
}

TEST(Files, AFileThatIsTooLargeIsRefusedBeforeItIsRead) {
  test::TemporaryFolder folder;
  write_file_atomically(folder / "a", "1234");
  EXPECT_EQ(read_file(folder / "a", 4), "1234");
  EXPECT_TRUE(test::contains(test::error_of([&] { read_file(folder / "a", 3); }),
                             "has 4 bytes or more, expected at most 3"));
  fs::resize_file(folder / "a", uintmax_t{1} << 40);  // takes no space on the disk
  EXPECT_TRUE(
      test::contains(test::error_of([&] { read_file(folder / "a"); }), "1099511627776 bytes"));
}

TEST(Files, NamesTheFileThatCannotBeRead) {
  EXPECT_TRUE(test::contains(test::error_of([] { read_file("/no/such/file"); }), "/no/such/file"));
  EXPECT_TRUE(test::contains(test::error_of([] { read_file("/tmp"); }), "is a folder"));
  EXPECT_TRUE(test::contains(test::error_of([] { read_file("/dev/zero"); }), "is a device"));
}

}  // namespace vitrine
