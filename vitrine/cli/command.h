#pragma once

#include <CLI/CLI.hpp>

#include <exception>
#include <functional>
#include <iostream>
#include <string>
#include <vector>

namespace vitrine::cli {

/// Where a command's results and log messages go; tests give it their own streams.
struct Streams {
  std::ostream& out = std::cout;  // results: text or, with --json, JSON
  std::ostream& err = std::cerr;  // log messages
};

/// One row of the table of commands. `bind` declares the options on the sub-command's `app` and
/// returns the body, which runs after parsing and gives the exit code.
struct Command {
  std::string name;
  std::string summary;
  std::function<std::function<int(Streams)>(CLI::App& app)> bind;
};

/// Every command, in the order that `vitrine --help` shows them.
const std::vector<Command>& commands();

/// What to tell the user about something that went wrong.
std::string message_of(const std::exception& e);

/// Parses and runs a whole command line (without the program's name). 0: done. 2: misuse, which is
/// a command line that cannot be parsed or, there or in a recipe, an unknown key or name or a value
/// out of its range (`UsageError`). 1: all else that fails.
int run(std::vector<std::string> arguments, Streams streams);

}  // namespace vitrine::cli
