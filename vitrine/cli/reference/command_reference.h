#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

// What the table of commands says of itself, for man pages and completion.
namespace vitrine::cli {

/// What an option or argument takes.
struct ValueReference {
  std::string type;                // as help shows it: "cpu|cuda", "MODEL|PATH"; empty for a flag
  std::vector<std::string> words;  // the known ones
  bool files = false, folders = false;  // whether it can be a file, a folder
};

struct OptionReference {
  std::vector<std::string> names;  // "-o", "--out"; of an argument its name alone
  std::string help;
  ValueReference value;
  std::string default_value;
  bool required = false, several = false;
};

struct CommandReference {
  std::string name;  // all its words: "vitrine data show"
  std::string summary, footer;
  std::vector<OptionReference> options, arguments;
  std::vector<CommandReference> commands;

  /// The last word of its name.
  std::string word() const { return name.substr(name.rfind(' ') + 1); }
};

/// The command `app` with those below it. `before` are the words that stand before its name.
CommandReference reference_of(const CLI::App& app, const std::string& before = "");

/// A text with `with` in place of every `what`.
std::string replaced(std::string text, const std::string& what, const std::string& with);

}  // namespace vitrine::cli
