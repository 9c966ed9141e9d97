#pragma once

#include <CLI/CLI.hpp>

#include <functional>
#include <iostream>
#include <memory>
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

/// Sub-commands of a command, one of which must be given; `body` runs it.
class Subcommands {
 public:
  explicit Subcommands(CLI::App& app) : app_(app) { app_.require_subcommand(1); }

  /// `run` takes the options, which are filled by then, and the streams.
  template <typename Options, typename Run>
  CLI::App* add(const char* name, const char* summary, std::shared_ptr<Options> options, Run run) {
    auto* sub = app_.add_subcommand(name, summary);
    sub->final_callback([chosen = chosen_, options = std::move(options), run] {
      *chosen = [=](Streams s) { return run(*options, s); };
    });
    return sub;
  }

  std::function<int(Streams)> body() const {
    return [chosen = chosen_](Streams s) { return (*chosen)(s); };
  }

 private:
  CLI::App& app_;
  std::shared_ptr<std::function<int(Streams)>> chosen_ =
      std::make_shared<std::function<int(Streams)>>();
};

}  // namespace vitrine::cli
