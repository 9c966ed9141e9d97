#include "vitrine/cli/commands.h"

namespace vitrine::cli {

const std::vector<Command>& commands() {
  static const std::vector<Command> table = {
      models_command(),  summary_command(), data_command(),   train_command(),
      eval_command(),    predict_command(), sample_command(), explain_command(),
      inspect_command(), sweep_command(),   study_command(),  lab_command(),
      bench_command(),   import_command(),  export_command(), weights_command(),
      probe_command(),   serve_command(),   launch_command(), completion_command(),
      man_command(),
  };
  return table;
}

}  // namespace vitrine::cli
