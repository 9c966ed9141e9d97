#include "vitrine/cli/commands.h"

namespace vitrine::cli {

const std::vector<Command>& commands() {
  static const std::vector<Command> table = {
      data_command(),
      train_command(),
  };
  return table;
}

}  // namespace vitrine::cli
