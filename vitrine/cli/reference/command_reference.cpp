#include "vitrine/cli/reference/command_reference.h"

#include <sstream>

#include "vitrine/cli/commands.h"
#include "vitrine/data/registry.h"
#include "vitrine/models/registry.h"
#include "vitrine/weights/published.h"

namespace vitrine::cli {
namespace {

/// Adds what an alternative of a type stands for: a placeholder, in capitals, or a word.
void add_alternative(ValueReference& value, const std::string& alternative) {
  const auto add = [&](const std::vector<std::string>& names) {
    value.words.insert(value.words.end(), names.begin(), names.end());
  };
  const bool placeholder =
      std::none_of(alternative.begin(), alternative.end(),
                   [](unsigned char c) { return std::islower(c) || std::isdigit(c); });
  if (alternative == "FILE" || alternative == "PATH" || alternative == "KEY=VALUE")
    value.files = true;  // as some values of keys are
  else if (alternative == "FOLDER")
    value.folders = true;
  else if (alternative == "MODEL")
    add(models().names());
  else if (alternative == "DATASET")
    add(datasets().names());
  else if (alternative == "WEIGHTS")
    add(published_weights().names());
  else if (alternative == "COMMAND")
    for (const auto& command : commands()) value.words.push_back(command.name);
  else if (!placeholder)
    add({alternative});
}

ValueReference value_of(const CLI::Option& option) {
  ValueReference value;
  if (option.get_type_size() == 0) return value;
  value.type = option.get_type_name();
  std::istringstream alternatives(value.type);
  for (std::string alternative; std::getline(alternatives, alternative, '|');)
    add_alternative(value, alternative);
  return value;
}

OptionReference option_reference(const CLI::Option& option) {
  OptionReference reference{
      .names = {},
      .help = option.get_description(),
      .value = value_of(option),
      .default_value = option.get_default_str(),
      .required = option.get_required(),
      .several = option.get_expected_max() == CLI::detail::expected_max_vector_size};
  for (const auto& name : option.get_snames()) reference.names.push_back("-" + name);
  for (const auto& name : option.get_lnames()) reference.names.push_back("--" + name);
  if (reference.names.empty()) reference.names.push_back(option.get_name(/*positional=*/true));
  return reference;
}

}  // namespace

CommandReference reference_of(const CLI::App& app, const std::string& before) {
  CommandReference command{.name = before.empty() ? app.get_name() : before + " " + app.get_name(),
                           .summary = app.get_description(),
                           .footer = app.get_footer(),
                           .options = {},
                           .arguments = {},
                           .commands = {}};
  for (const auto* option : app.get_options([](const CLI::Option* o) {
         return !o->get_group().empty();  // hidden
       }))
    (option->nonpositional() ? command.options : command.arguments)
        .push_back(option_reference(*option));
  for (const auto* sub : app.get_subcommands({}))
    command.commands.push_back(reference_of(*sub, command.name));
  return command;
}

std::string replaced(std::string text, const std::string& what, const std::string& with) {
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + with.size()))
    text.replace(at, what.size(), with);
  return text;
}

}  // namespace vitrine::cli
