#pragma once

#include <CLI/CLI.hpp>

#include <functional>
#include <iostream>
#include <string>

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

}  // namespace vitrine::cli
