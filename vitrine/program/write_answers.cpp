// Prints the source file of instant_answers(): help, man pages, completion and lists.

#include <fmt/format.h>

#include <sstream>

#include "vitrine/cli/commands.h"
#include "vitrine/cli/reference/command_reference.h"
#include "vitrine/cli/run.h"
#include "vitrine/core/error.h"

namespace vitrine::cli {
namespace {

using Line = std::vector<std::string>;

std::string answer_of(const Line& line) {
  std::ostringstream out, err;
  check(run(line, {out, err}) == 0, "`vitrine {}` failed: {}", fmt::join(line, " "), err.str());
  return out.str();
}

Line with(Line line, const std::string& word) {
  line.push_back(word);
  return line;
}

/// Help for the command that `line` names and for those below it.
void add_help(const CommandReference& command, const Line& line, std::vector<Line>& lines) {
  for (const auto* flag : {"--help", "-h"}) lines.push_back(with(line, flag));
  for (const auto& below : command.commands) add_help(below, with(line, below.word()), lines);
}

std::vector<Line> instant_lines() {
  CLI::App app("", "vitrine");
  for (const auto& command : commands())
    command.bind(*app.add_subcommand(command.name, command.summary));
  const auto program = reference_of(app);
  std::vector<Line> lines = {
      {"man"},    {"completion", "bash"}, {"completion", "zsh"}, {"completion", "fish"},
      {"models"}, {"models", "--table"},  {"data", "list"},      {"weights", "list"}};
  for (const auto& command : program.commands) lines.push_back({"man", command.word()});
  add_help(program, {}, lines);
  return lines;
}

/// A string literal of any bytes.
std::string literal(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '\n')
      result += "\\n\"\n\"";
    else if (c == '"' || c == '\\')
      (result += '\\') += c;
    else
      result += c;
  }
  return result + "\"";
}

void write() {
  fmt::print(
      "#include \"vitrine/program/instant_answers.h\"\n\n"
      "using namespace std::literals;\n\n"
      "namespace vitrine {{\n"
      "std::span<const InstantAnswer> instant_answers() {{\n"
      "  static constexpr InstantAnswer answers[] = {{\n");
  for (const auto& line : instant_lines()) {
    fmt::print("{{");
    for (const auto& word : line) fmt::print("{} \"\\0\" ", literal(word));
    fmt::print("\"\"sv,\n{}}},\n", literal(answer_of(line)));
  }
  fmt::print("  }};\n  return answers;\n}}\n}}  // namespace vitrine\n");
}

}  // namespace
}  // namespace vitrine::cli

int main() {
  try {
    vitrine::cli::write();
  } catch (const std::exception& e) {
    fmt::print(stderr, "write_answers: {}\n", e.what());
    return 1;
  }
}
