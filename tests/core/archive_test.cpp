#include "vitrine/core/archive.h"

#include <gtest/gtest.h>

#include <map>

#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"
#include "vitrine/data/process.h"

namespace vitrine {
namespace {

using Files = std::map<std::string, std::string>;

Files files_of(const fs::path& path, const std::string& wanted = "") {
  Files files;
  read_archive(
      path, [&](const std::string& name) { return wanted.empty() || name == wanted; },
      [&](const std::string& name, std::string bytes) { files[name] = std::move(bytes); });
  return files;
}

std::string noise() {
  std::string bytes;
  for (uint32_t i = 0, x = 1; i < 100000; ++i) bytes += static_cast<char>((x *= 48271u) >> 16);
  return bytes;
}

}  // namespace

TEST(Archive, GivesTheWantedFilesAndRefusesATruncatedArchive) {
  test::TemporaryFolder folder;
  make_folder(folder / "inside");
  write_file_atomically(folder / "inside" / "a.bin", noise());
  write_file_atomically(folder / "inside" / "b.bin", "other");
  ASSERT_EQ(run_process({"tar", "czf", "x.tar.gz", "inside"}, folder.path()).status, 0);
  EXPECT_EQ(files_of(folder / "x.tar.gz", "inside/a.bin"), (Files{{"inside/a.bin", noise()}}));
  const auto bytes = read_file(folder / "x.tar.gz");
  write_file_atomically(folder / "x.tar.gz", bytes.substr(0, bytes.size() / 2));
  EXPECT_TRUE(test::contains(test::error_of([&] { files_of(folder / "x.tar.gz"); }), "x.tar.gz"));
}

TEST(Archive, ReadsTheZipThatItWrites) {
  test::TemporaryFolder folder;
  const auto big = noise();
  write_zip(folder / "x.zip", {{"a/b:0.bin", {"one ", "two"}}, {"empty", {}}, {"big", {big}}});
  EXPECT_EQ(files_of(folder / "x.zip"),
            (Files{{"a/b:0.bin", "one two"}, {"empty", ""}, {"big", big}}));
}

TEST(Archive, NoticesDamageByTheChecksumOfAZip) {
  test::TemporaryFolder folder;
  write_zip(folder / "x.zip", {{"a", {"some text that is long enough to be found"}}});
  auto bytes = read_file(folder / "x.zip");
  bytes[bytes.find("long")] = 'L';
  write_file_atomically(folder / "x.zip", bytes);
  EXPECT_TRUE(test::contains(test::error_of([&] { files_of(folder / "x.zip"); }), "CRC"));
}

TEST(Archive, StopsWhereTheFilesUnpackToMoreThanAllowed) {
  test::TemporaryFolder folder;
  write_zip(folder / "x.zip", {{"a", {"12345"}}, {"b", {"67890"}}});
  const auto all = [](const std::string&) { return true; };
  const auto drop = [](const std::string&, const std::string&) {};
  EXPECT_NO_THROW(read_archive(folder / "x.zip", all, drop, 10));
  EXPECT_TRUE(test::contains(test::error_of([&] { read_archive(folder / "x.zip", all, drop, 9); }),
                             "x.zip unpacks to more than 9 bytes in b"));
}

TEST(Archive, CountsWhatIsUnpackedOnlyToBeSkipped) {
  test::TemporaryFolder folder;
  write_file_atomically(folder / "a", std::string(1 << 20, '0'));
  write_file_atomically(folder / "b", "text");
  ASSERT_EQ(run_process({"tar", "czf", "x.tar.gz", "a", "b"}, folder.path()).status, 0);
  const auto read = [&](uint64_t most) {
    std::string found;
    read_archive(
        folder / "x.tar.gz", [](const std::string& name) { return name == "b"; },
        [&](const std::string&, std::string bytes) { found = std::move(bytes); }, most);
    return found;
  };
  EXPECT_EQ(read(2 << 20), "text");
  EXPECT_TRUE(test::contains(test::error_of([&] { read(1 << 16); }), "65536 bytes in a"));
}

TEST(Archive, StartsNoOtherProgramToUnpack) {
  // As an archive of lrzip begins, which libarchive leaves to the program of that name.
  test::TemporaryFolder folder;
  write_file_atomically(folder / "x.tar.lrz", std::string("LRZI\0\6", 6) + std::string(1000, '\0'));
  const auto message = test::error_of([&] { files_of(folder / "x.tar.lrz"); });
  EXPECT_TRUE(test::contains(message, "Unrecognized archive format"));
}

}  // namespace vitrine
