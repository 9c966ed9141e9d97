#include <fmt/format.h>

#include "vitrine/cli/reference/completion_scripts.h"

namespace vitrine::cli {
namespace {

constexpr const char* kZshScript = R"(#compdef vitrine
# zsh completion of vitrine, written by `vitrine completion zsh`

{functions}
if [[ $funcstack[1] == _vitrine ]]; then
  _vitrine "$@"
else
  compdef _vitrine vitrine
fi
)";

std::string function_name(const CommandReference& command) {
  return "_" + replaced(command.name, " ", "_");
}

/// In single quotes.
std::string zsh_quoted(const std::string& text) { return "'" + replaced(text, "'", "'\\''") + "'"; }

/// A part of a specification of _arguments or _describe.
std::string zsh_escaped(std::string text) {
  for (const char* special : {"\\", ":", "[", "]"})
    text = replaced(text, special, std::string("\\") + special);
  return text;
}

/// How _arguments completes a value.
std::string zsh_action(const ValueReference& value) {
  const auto words = fmt::format("({})", fmt::join(value.words, " "));
  const std::string files = value.files ? "_files" : value.folders ? "_files -/" : "";
  if (value.words.empty()) return files;
  if (files.empty()) return words;
  return fmt::format(R"({{_alternative "words:name:{}" "files:file:{}"}})", words, files);
}

std::string option_spec(const OptionReference& option) {
  const auto& names = option.names;
  const auto takes_value = !option.value.type.empty();
  std::string text = option.several     ? "'*'"
                     : names.size() > 1 ? fmt::format("'({})'", fmt::join(names, " "))
                                        : "";
  std::vector<std::string> spelled;
  for (const auto& name : names)
    spelled.push_back(name + (!takes_value ? "" : name.starts_with("--") ? "=" : "+"));
  text += spelled.size() == 1 ? spelled[0] : fmt::format("{{{}}}", fmt::join(spelled, ","));
  text += zsh_quoted(
      "[" + zsh_escaped(option.help) + "]" +
      (takes_value ? ":" + zsh_escaped(option.value.type) + ":" + zsh_action(option.value) : ""));
  return text;
}

std::string argument_spec(const OptionReference& argument, size_t position) {
  return zsh_quoted(fmt::format("{}{}:{}:{}", argument.several ? "*" : std::to_string(position),
                                argument.required || argument.several ? "" : ":",
                                zsh_escaped(argument.names[0]), zsh_action(argument.value)));
}

/// The part of a command's function that chooses among the commands below it.
std::string command_choice(const CommandReference& command) {
  std::string described, called;
  for (const auto& sub : command.commands) {
    described +=
        fmt::format("        {}\n", zsh_quoted(sub.word() + ":" + zsh_escaped(sub.summary)));
    called += fmt::format("        {}) {} ;;\n", sub.word(), function_name(sub));
  }
  return fmt::format(R"(  case $state in
    command)
      local -a commands=(
{}      )
      _describe command commands
      ;;
    argument)
      case $line[1] in
{}      esac
      ;;
  esac
)",
                     described, called);
}

/// The functions of a command and of those below it.
std::string zsh_functions(const CommandReference& command) {
  std::vector<std::string> specs;
  for (const auto& option : command.options) specs.push_back(option_spec(option));
  for (size_t i = 0; i < command.arguments.size(); ++i)
    specs.push_back(argument_spec(command.arguments[i], i + 1));
  const bool has_commands = !command.commands.empty();
  if (has_commands) specs.insert(specs.end(), {"'1: :->command'", "'*:: :->argument'"});
  auto text = fmt::format("{}() {{\n{}  _arguments {}\\\n    {}\n{}}}\n\n", function_name(command),
                          has_commands ? "  local curcontext=$curcontext state line\n" : "",
                          has_commands ? "-C " : "", fmt::join(specs, " \\\n    "),
                          has_commands ? command_choice(command) : "");
  for (const auto& sub : command.commands) text += zsh_functions(sub);
  return text;
}

}  // namespace

std::string zsh_completion(const CommandReference& program) {
  return fmt::format(kZshScript, fmt::arg("functions", zsh_functions(program)));
}

}  // namespace vitrine::cli
