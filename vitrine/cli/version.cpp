#include "vitrine/cli/version.h"

#include "vitrine/ops/runtime_report.h"

namespace vitrine::cli {

std::string version() { return VITRINE_VERSION; }

std::string version_text() {
  auto text = "vitrine " + version() + "\n" + runtime_report();
  text.pop_back();  // CLI11 ends the last line
  return text;
}

}  // namespace vitrine::cli
