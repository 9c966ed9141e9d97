#include <memory>

#include "vitrine/cli/commands.h"
#include "vitrine/core/error.h"
#include "vitrine/core/interrupt.h"
#include "vitrine/ops/runtime.h"
#include "vitrine/studies/addition/report.h"
#include "vitrine/studies/addition/run.h"

namespace vitrine::cli {
namespace {

struct StudyOptions {
  std::string name;
  std::string sweeps = "recipes/addition";
  std::string out = "studies/addition";
  std::vector<std::string> parts;
  int64_t workers = 0;
  bool smoke = false;
};

int run_study(const StudyOptions& o, Streams s) {
  check(o.name == "addition", "study: '{}' is not known (known: addition)", o.name);
  set_up_runtime(/*threads=*/0);
  const auto study = run_addition_study(
      {.sweeps = o.sweeps, .out = o.out, .parts = o.parts, .workers = o.workers, .smoke = o.smoke});
  s.err << "writing the report\n";
  write_addition_report(study, o.out);
  if (interrupted())
    s.err << "interrupted; the same command goes on where it was. The report holds what is done\n";
  s.out << (fs::path(o.out) / "report.html").string() << '\n';
  return interrupted() ? 1 : 0;
}

}  // namespace

Command study_command() {
  return {
      "study", "reproduce a whole study: sweeps, figures and a report", [](CLI::App& app) {
        const auto o = std::make_shared<StudyOptions>();
        app.add_option("name", o->name, "addition: CNN against Transformer at adding two numbers")
            ->required();
        app.add_option(
               "--parts", o->parts,
               fmt::format("which to run: {}; default all", fmt::join(addition_parts(), ", ")))
            ->delimiter(',');
        app.add_option("--sweeps", o->sweeps, "the folder of the study's sweep files")
            ->capture_default_str();
        app.add_option("--out", o->out, "where runs, figures and report.html go")
            ->capture_default_str();
        app.add_option("--workers", o->workers, "processes at once; 0 = as each sweep says")
            ->capture_default_str();
        app.add_flag("--smoke", o->smoke, "tiny sizes, to see whether all works");
        app.footer(
            "The same command goes on with a study that was broken off. Parts that are complete "
            "are in the report\neven if they were not asked for.");
        return [o](Streams s) { return run_study(*o, s); };
      }};
}

}  // namespace vitrine::cli
