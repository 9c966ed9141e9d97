#include <fmt/format.h>

#include "vitrine/cli/reference/completion_scripts.h"

namespace vitrine::cli {
namespace {

constexpr const char* kFishScript =
    R"(# fish completion of vitrine, written by `vitrine completion fish`

# Whether the words before the cursor name the command $argv[1].
function __vitrine_is
    set -l commands {names}
    set -l command vitrine
    set -l words (commandline -opc)
    set -e words[1]
    for word in $words
        contains -- "$command $word" $commands; or break
        set command "$command $word"
    end
    test "$command" = "$argv[1]"
end

complete -c vitrine -f
{rows})";

std::string fish_quoted(const std::string& text) {
  return "'" + replaced(replaced(text, "\\", "\\\\"), "'", "\\'") + "'";
}

/// The part of a row that says what a value can be.
std::string fish_value(const ValueReference& value) {
  std::string words = fmt::format("{}", fmt::join(value.words, " "));
  if (value.folders && !value.files) words += " (__fish_complete_directories)";
  return (value.files ? " -F" : "") + (words.empty() ? "" : " -a " + fish_quoted(words));
}

/// The rows of a command and of those below it; `names` gets what they are called.
std::string fish_rows(const CommandReference& command, std::vector<std::string>& names) {
  std::string text;
  const auto start = fmt::format("complete -c vitrine -n \"__vitrine_is '{}'\"", command.name);
  for (const auto& sub : command.commands) {
    names.push_back(fish_quoted(sub.name));
    text += fmt::format("{} -a {} -d {}\n", start, sub.word(), fish_quoted(sub.summary));
  }
  for (const auto& option : command.options) {
    text += start;
    for (const auto& name : option.names)
      text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
    if (!option.value.type.empty())
      text += (option.value.files ? " -r" : " -x") + fish_value(option.value);
    text += fmt::format(" -d {}\n", fish_quoted(option.help));
  }
  for (const auto& argument : command.arguments)
    if (const auto value = fish_value(argument.value); !value.empty())
      text += fmt::format("{}{}\n", start, value);
  for (const auto& sub : command.commands) text += fish_rows(sub, names);
  return text;
}

}  // namespace

std::string fish_completion(const CommandReference& program) {
  std::vector<std::string> names;
  const auto rows = fish_rows(program, names);
  return fmt::format(kFishScript, fmt::arg("names", fmt::format("{}", fmt::join(names, " "))),
                     fmt::arg("rows", rows));
}

}  // namespace vitrine::cli
