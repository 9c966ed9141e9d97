#pragma once

#include <sstream>
#include <string>
#include <vector>

#include "vitrine/cli/run.h"

namespace vitrine::test {

/// What a command line gave.
struct Outcome {
  int code = 0;
  std::string out, err;
};

/// Runs a whole command line in this process.
inline Outcome run_command(std::vector<std::string> arguments) {
  std::ostringstream out, err;
  const int code = cli::run(std::move(arguments), {out, err});
  return {code, out.str(), err.str()};
}

}  // namespace vitrine::test
