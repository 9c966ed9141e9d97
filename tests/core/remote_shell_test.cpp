#include "vitrine/core/remote_shell.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdio>

#include "tests/support/errors.h"
#include "vitrine/core/error.h"

namespace vitrine {
namespace {

std::string output_of_shell(const std::string& line) {
  auto* pipe = ::popen(line.c_str(), "r");
  std::array<char, 4096> buffer{};
  const auto size = std::fread(buffer.data(), 1, buffer.size(), pipe);
  ::pclose(pipe);
  return {buffer.data(), size};
}

}  // namespace

TEST(RemoteShell, GivesTheHostsShellTheWordsThatItGot) {
  const std::vector<std::string> words = {"printf", "<%s>", "it's",     "two words", "",
                                          "$HOME",  "a\nb", "\\ \"q\"", "*",         "; exit 1"};
  const auto line = RemoteShell("sh -c").on("host", words);
  ASSERT_EQ(line.size(), 4);  // sh -c HOST COMMAND
  EXPECT_EQ(line[2], "host");
  EXPECT_EQ(output_of_shell(line[3]), "<it's><two words><><$HOME><a\nb><\\ \"q\"><*><; exit 1>");
}

TEST(RemoteShell, RunsInTheSameFolder) {
  EXPECT_EQ(output_of_shell(RemoteShell("sh").on("host", {"pwd", "-P"}).back()),
            fs::current_path().string() + "\n");
}

TEST(RemoteShell, SaysWhatToDoAboutExitCodesOfItsOwn) {
  const RemoteShell shell("sh");
  const auto failure = [&](int code) { return shell.failure("node2", {"/opt/vitrine"}, code); };
  EXPECT_TRUE(test::contains(failure(255), "sh node2 true' works"));
  EXPECT_TRUE(test::contains(failure(127), "cannot run /opt/vitrine"));
  EXPECT_TRUE(test::contains(failure(125), "no folder " + fs::current_path().string()));
  EXPECT_EQ(failure(1), "");
}

TEST(Hosts, AreNamesWithCommasBetweenThem) {
  EXPECT_EQ(parse_hosts("a,me@b,10.0.0.3"), (std::vector<std::string>{"a", "me@b", "10.0.0.3"}));
  EXPECT_EQ(host_address("me@b"), "b");
  EXPECT_EQ(host_address("b"), "b");
  for (const auto* bad : {"", ",", "a,", "a,b,a", "-x", "a b"})
    EXPECT_THROW(parse_hosts(bad), UsageError) << bad;
}

}  // namespace vitrine
