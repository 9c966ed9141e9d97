#include <memory>

#include "vitrine/cli/command.h"
#include "vitrine/core/error.h"

namespace vitrine::cli {

constexpr int kFailed = 1, kMisuse = 2;

/// Torch's errors end with a stack trace, which helps no user.
static std::string first_part(const std::string& message) {
  return message.substr(0, message.find("\nException raised from"));
}

int run(std::vector<std::string> arguments, Streams streams) {
  CLI::App app("Build, train, compare, look inside and use transformers for images and sequences.",
               "vitrine");
  app.require_subcommand(1);
  app.set_version_flag("--version", VITRINE_VERSION);
  std::function<int(Streams)> body;
  for (const auto& command : commands()) {
    auto* sub = app.add_subcommand(command.name, command.summary);
    const auto bound = command.bind(*sub);
    sub->final_callback([&body, bound] { body = bound; });
  }
  try {
    std::reverse(arguments.begin(), arguments.end());
    app.parse(arguments);
  } catch (const CLI::ParseError& e) {
    return app.exit(e, streams.out, streams.err) == 0 ? 0 : kMisuse;
  }
  try {
    return body(streams);
  } catch (const std::exception& e) {
    streams.err << "error: " << first_part(e.what()) << '\n';
    return kFailed;
  }
}

}  // namespace vitrine::cli
