#include "vitrine/cli/reference/man_page.h"

#include <fmt/format.h>

#include <sstream>

#include "vitrine/cli/version.h"

namespace vitrine::cli {
namespace {

/// A text without what troff would take for a request. Long lists of words may break behind a |.
std::string roff(const std::string& text) {
  auto safe = replaced(replaced(text, "\\", "\\e"), "-", "\\-");
  safe = replaced(safe, "|", "|\\:");
  return safe.starts_with(".") || safe.starts_with("'") ? "\\&" + safe : safe;
}

std::string bold(const std::string& text) { return "\\fB" + roff(text) + "\\fR"; }
std::string italic(const std::string& text) { return "\\fI" + roff(text) + "\\fR"; }

std::string synopsis(const CommandReference& command) {
  auto text = bold(command.name) + " [" + italic("OPTION") + "]...";
  for (const auto& argument : command.arguments) {
    const auto name = italic(argument.names[0]);
    text += (argument.required ? " " + name : " [" + name + "]") + (argument.several ? "..." : "");
  }
  if (!command.commands.empty()) text += " " + italic("COMMAND");
  return text + "\n";
}

/// An entry of a list: what it is called and, below, what it is.
std::string entry(const std::string& head, const std::string& body) {
  return ".TP\n" + head + "\n" + roff(body) + "\n";
}

std::string option_entry(const OptionReference& option) {
  std::vector<std::string> names;
  for (const auto& name : option.names) names.push_back(bold(name));
  auto head = fmt::format("{}", fmt::join(names, ", "));
  if (!option.value.type.empty()) head += " " + italic(option.value.type);
  if (option.several) head += "...";
  auto body = option.help;
  if (option.required) body += " (required)";
  if (!option.default_value.empty()) body += " (default: " + option.default_value + ")";
  return entry(head, body);
}

std::string option_list(const std::string& title, const std::vector<OptionReference>& options) {
  if (options.empty()) return "";
  auto text = title + "\n";
  for (const auto& option : options) text += option_entry(option);
  return text;
}

/// The text behind a command's options, in which lines that begin with the program's name are
/// examples.
std::string notes(const std::string& footer) {
  if (footer.empty()) return "";
  std::string text = ".SH NOTES\n";
  std::istringstream lines(footer);
  for (std::string line; std::getline(lines, line);) {
    if (line.empty())
      text += ".PP\n";
    else if (line.starts_with("vitrine "))
      text += ".nf\n" + roff(line) + "\n.fi\n";
    else
      text += roff(line) + "\n";
  }
  return text;
}

std::string command_sections(const CommandReference& command) {
  std::string text;
  for (const auto& sub : command.commands) {
    text += ".SH \"" + roff(sub.name) + "\"\n" + roff(sub.summary) + "\n";
    text += option_list(".SS Arguments", sub.arguments) + option_list(".SS Options", sub.options);
  }
  return text;
}

std::string command_list(const CommandReference& program) {
  std::string text = ".SH COMMANDS\n";
  for (const auto& command : program.commands)
    text += entry(bold(man_page_name(command)) + "(1)", command.summary);
  return text;
}

std::string see_also(const CommandReference& command, const CommandReference& program) {
  std::vector<std::string> pages;
  if (command.name != program.name) pages.push_back(bold(man_page_name(program)) + "(1)");
  for (const auto& other : program.commands)
    if (other.name != command.name) pages.push_back(bold(man_page_name(other)) + "(1)");
  return fmt::format(".SH SEE ALSO\n{}\n", fmt::join(pages, ",\n"));
}

constexpr const char* kExitStatus = R"(.SH EXIT STATUS
.TP
0
done
.TP
1
something failed, such as reading a file that is missing
.TP
2
misuse: a command line that cannot be parsed or, there or in a recipe, an unknown key or name or a
value out of its range
)";

}  // namespace

std::string man_page_name(const CommandReference& command) {
  return replaced(command.name, " ", "-");
}

std::string man_page(const CommandReference& command, const CommandReference& program) {
  const auto name = man_page_name(command);
  const bool whole = command.name == program.name;
  auto text =
      fmt::format(".TH {} 1 \"\" \"vitrine {}\" \"User Commands\"\n", roff(name), version());
  text += ".SH NAME\n" + roff(name) + " \\- " + roff(command.summary) + "\n.SH SYNOPSIS\n";
  if (whole || command.commands.empty())
    text += synopsis(command);
  else
    for (const auto& sub : command.commands) text += synopsis(sub) + ".br\n";
  text +=
      option_list(".SH ARGUMENTS", command.arguments) + option_list(".SH OPTIONS", command.options);
  text += whole ? command_list(command) : command_sections(command);
  return text + notes(command.footer) + kExitStatus + see_also(command, program);
}

}  // namespace vitrine::cli
