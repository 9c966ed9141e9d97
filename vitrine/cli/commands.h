#pragma once

#include <vector>

#include "vitrine/cli/command.h"

namespace vitrine::cli {

/// Every command, in the order that `vitrine --help` shows them.
const std::vector<Command>& commands();

// One per file of this folder.
Command bench_command();
Command completion_command();
Command data_command();
Command eval_command();
Command explain_command();
Command export_command();
Command import_command();
Command inspect_command();
Command lab_command();
Command launch_command();
Command man_command();
Command models_command();
Command predict_command();
Command probe_command();
Command sample_command();
Command serve_command();
Command study_command();
Command summary_command();
Command sweep_command();
Command train_command();
Command weights_command();

}  // namespace vitrine::cli
