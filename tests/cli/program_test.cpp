// The program as users start it: what needs no tensors is answered without loading them.

#include <gtest/gtest.h>

#include <cstdlib>
#include <iterator>
#include <set>
#include <sstream>

#include "tests/support/command.h"
#include "tests/support/temporary_folder.h"
#include "vitrine/cli/commands.h"
#include "vitrine/core/files.h"

namespace vitrine {
namespace {

using Line = std::vector<std::string>;

/// Runs the program to its end; `before` are variables of its environment.
test::Outcome run_program(const Line& line, const std::string& before = "") {
  const test::TemporaryFolder folder;
  const auto out = folder / "out", err = folder / "err";
  const auto command = fmt::format("{} '" VITRINE_PROGRAM "' '{}' > '{}' 2> '{}'", before,
                                   fmt::join(line, "' '"), out.string(), err.string());
  const int status = std::system(command.c_str());
  return {WEXITSTATUS(status), read_file(out), read_file(err)};
}

/// Lines that the program must answer as the commands themselves do.
std::vector<Line> lines() {
  std::vector<Line> all = {
      {"--help"},          {"models"},       {"models", "--table"}, {"data", "list"},
      {"weights", "list"}, {"man", "train"}, {"completion", "zsh"}, {"data", "show", "-h"}};
  for (const auto& command : cli::commands()) all.push_back({command.name, "--help"});
  return all;
}

/// The words of each line in alphabetical order: CLI11 lists what an option excludes in the order
/// of addresses.
std::vector<std::multiset<std::string>> lines_of_words(const std::string& text) {
  std::vector<std::multiset<std::string>> result;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    result.emplace_back(std::istream_iterator<std::string>(words),
                        std::istream_iterator<std::string>());
  }
  return result;
}

}  // namespace

TEST(Program, AnswersAtOnceWhatTheCommandsWouldAnswer) {
  for (const auto& line : lines()) {
    SCOPED_TRACE(fmt::format("{}", fmt::join(line, " ")));
    const auto program = run_program(line);
    const auto expected = test::run_command(line);
    EXPECT_EQ(program.code, 0);
    EXPECT_EQ(lines_of_words(program.out), lines_of_words(expected.out));
    EXPECT_EQ(program.err, expected.err);
  }
}

TEST(Program, LoadsNoTensorsForThat) {
  const auto loaded = [](const Line& line) { return run_program(line, "LD_DEBUG=libs").err; };
  for (const auto& line : {Line{"--help"}, Line{"models"}, Line{"bench", "infer", "--help"}})
    EXPECT_EQ(loaded(line).find("libtorch"), std::string::npos) << line[0];
  EXPECT_NE(loaded({"models", "vit_ti16"}).find("libtorch"), std::string::npos);
}

TEST(Program, LeavesTheRestToTheCommands) {
  const auto unknown = run_program({"trian"});
  EXPECT_EQ(unknown.code, 2);
  EXPECT_EQ(unknown.err, test::run_command({"trian"}).err);
  const auto filtered = run_program({"models", "vit_ti16"});
  EXPECT_EQ(filtered.code, 0);
  EXPECT_EQ(filtered.out, test::run_command({"models", "vit_ti16"}).out);
  EXPECT_EQ(run_program({"man\ntrain"}).code, 2);
}

}  // namespace vitrine
