#include "vitrine/cli/run.h"

#include <algorithm>
#include <exception>
#include <memory>
#include <new>

#include "vitrine/cli/commands.h"
#include "vitrine/cli/version.h"
#include "vitrine/core/error.h"
#include "vitrine/core/nearest.h"

namespace vitrine::cli {
namespace {

constexpr int kFailed = 1, kMisuse = 2;

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

std::vector<std::string> names_of(const std::vector<const CLI::App*>& commands) {
  std::vector<std::string> names;
  for (const auto* command : commands) names.push_back(command->get_name());
  return names;
}

/// The command that the leading words of a command line name, as far as they name any; `first` is
/// the first word behind it.
const CLI::App& named_command(const CLI::App& app, const std::vector<std::string>& arguments,
                              size_t& first) {
  const CLI::App* here = &app;
  for (first = 0; first < arguments.size(); ++first) {
    const auto inside = commands_of(*here);
    const auto next = std::find_if(inside.begin(), inside.end(), [&](const auto* command) {
      return command->get_name() == arguments[first];
    });
    if (next == inside.end()) break;
    here = *next;
  }
  return *here;
}

/// Throws, or gives help, where a word that must name a command is missing or names none. Whether
/// all is well.
bool check_command(const CLI::App& app, const std::vector<std::string>& arguments,
                   std::ostream& err) {
  size_t first = 0;
  const auto& command = named_command(app, arguments, first);
  if (command.get_require_subcommand_min() == 0) return true;
  if (first == arguments.size()) {
    err << command.help();
    return false;
  }
  const auto& word = arguments[first];
  if (word.starts_with("-")) return true;  // --help, or an option that CLI11 will refuse
  const auto names = names_of(commands_of(command));
  fail_usage("'{}' is not a command of {}{} (known: {})", word,
             &command == &app ? "vitrine" : "vitrine " + command.get_name(),
             did_you_mean(word, names), fmt::join(names, ", "));
}

/// What to tell the user about something that went wrong.
std::string message_of(const std::exception& e) {
  if (dynamic_cast<const std::bad_alloc*>(&e) != nullptr) return "there is not enough memory";
  // Torch's errors end with a stack trace, which helps no user.
  const std::string message = e.what();
  return message.substr(0, message.find("\nException raised from"));
}

int parse_and_run(std::vector<std::string> arguments, Streams streams) {
  CLI::App app("Build, train, compare, look inside and use transformers for images and sequences.",
               "vitrine");
  app.require_subcommand(1);
  app.set_version_flag("--version", version_text,
                       "version of the program, its libraries and the CPU instructions used");
  app.failure_message([](const CLI::App*, const CLI::Error& e) {
    return fmt::format("error: {}\nRun with --help for more information.\n", e.what());
  });
  std::function<int(Streams)> body;
  for (const auto& command : commands()) {
    auto* sub = app.add_subcommand(command.name, command.summary);
    const auto bound = command.bind(*sub);
    sub->final_callback([&body, bound] { body = bound; });
  }
  try {
    if (!check_command(app, arguments, streams.err)) return kMisuse;
    std::reverse(arguments.begin(), arguments.end());
    app.parse(arguments);
    return body(streams);
  } catch (const CLI::ParseError& e) {
    return app.exit(e, streams.out, streams.err) == 0 ? 0 : kMisuse;
  } catch (const UsageError& e) {
    streams.err << "error: " << message_of(e) << '\n';
    return kMisuse;
  } catch (const std::exception& e) {
    streams.err << "error: " << message_of(e) << '\n';
    return kFailed;
  }
}

}  // namespace

int run(std::vector<std::string> arguments, Streams streams) {
  const int code = parse_and_run(std::move(arguments), streams);
  streams.out.flush();
  if (streams.out) return code;
  streams.err << "error: the results could not be written; is the device full?\n";
  return kFailed;
}

}  // namespace vitrine::cli
