#include "vitrine/cli/run.h"

/// What the program calls once it has loaded this library.
extern "C" int vitrine_main(int argc, char** argv) {
  return vitrine::cli::run({argv + 1, argv + argc}, {});
}
