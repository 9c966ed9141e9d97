#include <fmt/format.h>

#include "vitrine/cli/reference/completion_scripts.h"

namespace vitrine::cli {
namespace {

constexpr const char* kBashScript =
    R"(# bash completion of vitrine, written by `vitrine completion bash`

# Of the command $1: its commands and options, the words that its arguments can be, and whether they
# can be files (f) or folders (d).
_vitrine_command() {{
  commands='' options='' words='' files=''
  case $1 in
{commands}  esac
}}

# The same of what the option $1 of a command takes; fails if that is nothing.
_vitrine_value() {{
  words='' files=''
  case $1 in
{values}    *) return 1 ;;
  esac
}}

_vitrine() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD - 1]}}
  local command=vitrine commands options words files i
  if [[ $current == = ]]; then
    current=''
  elif [[ $previous == = ]]; then
    previous=${{COMP_WORDS[COMP_CWORD - 2]}}
  fi
  _vitrine_command "$command"
  for ((i = 1; i < COMP_CWORD; ++i)); do
    [[ " $commands " == *" ${{COMP_WORDS[i]}} "* ]] || break
    command+=" ${{COMP_WORDS[i]}}"
    _vitrine_command "$command"
  done
  if ! _vitrine_value "$command $previous"; then
    _vitrine_command "$command"
    if [[ $current == -* ]]; then
      words=$options files=''
    else
      words+=" $commands"
    fi
  fi
  mapfile -t COMPREPLY < <(
    compgen -W "$words" -- "$current"
    [[ -z $files ]] || compgen "-$files" -- "$current"
  )
  [[ -z $files ]] || compopt -o filenames 2>/dev/null
  [[ ${{#COMPREPLY[@]}} -ne 1 || ${{COMPREPLY[0]}} != *= ]] || compopt -o nospace 2>/dev/null
}}

complete -F _vitrine vitrine
)";

std::string value_text(const std::vector<std::string>& words, bool files, bool folders) {
  std::string text;
  if (!words.empty()) text += fmt::format(" words='{}'", fmt::join(words, " "));
  if (files || folders) text += files ? " files=f" : " files=d";
  return text;
}

/// The rows of both tables for a command and those below it.
void add_rows(const CommandReference& command, std::string& commands, std::string& values) {
  std::vector<std::string> below, options, words;
  bool files = false, folders = false;
  for (const auto& sub : command.commands) below.push_back(sub.word());
  for (const auto& option : command.options) {
    options.insert(options.end(), option.names.begin(), option.names.end());
    if (option.value.type.empty()) continue;
    std::vector<std::string> lines;
    for (const auto& name : option.names)
      lines.push_back(fmt::format("'{} {}'", command.name, name));
    values += fmt::format("    {}){} ;;\n", fmt::join(lines, " | "),
                          value_text(option.value.words, option.value.files, option.value.folders));
  }
  for (const auto& [names, help, value, default_value, required, several] : command.arguments) {
    words.insert(words.end(), value.words.begin(), value.words.end());
    files |= value.files;
    folders |= value.folders;
  }
  const auto own = below.empty() ? "" : fmt::format(" commands='{}'", fmt::join(below, " "));
  commands += fmt::format("    '{}'){} options='{}'{} ;;\n", command.name, own,
                          fmt::join(options, " "), value_text(words, files, folders));
  for (const auto& sub : command.commands) add_rows(sub, commands, values);
}

}  // namespace

std::string bash_completion(const CommandReference& program) {
  std::string commands, values;
  add_rows(program, commands, values);
  return fmt::format(kBashScript, fmt::arg("commands", commands), fmt::arg("values", values));
}

}  // namespace vitrine::cli
