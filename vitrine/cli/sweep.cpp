#include <memory>

#include "vitrine/cli/commands.h"
#include "vitrine/cli/options.h"
#include "vitrine/core/error.h"
#include "vitrine/studies/sweep_runner.h"

namespace vitrine::cli {
namespace {

struct SweepCommandOptions {
  std::string file;
  std::string out = "sweeps";
  int64_t workers = 0;
  std::string hosts;
  std::string ssh = RemoteShell::kDefault;
  bool retry_failed = false;
  bool smoke = false;
};

/// The command line that makes the same results.
std::string command_line(const SweepCommandOptions& o) {
  auto line = "vitrine sweep " + o.file;
  if (o.out != SweepCommandOptions().out) line += " --out " + o.out;
  if (o.smoke) line += " --smoke";
  return line;
}

int run_sweep_command(const SweepCommandOptions& o, Streams s) {
  const auto config = o.smoke ? smoke_sweep_config(read_sweep(o.file)) : read_sweep(o.file);
  const SweepOptions options{
      .out = o.out,
      .workers = o.workers,
      .hosts = o.hosts.empty() ? std::vector<std::string>() : parse_hosts(o.hosts),
      .ssh = o.ssh,
      .retry_failed = o.retry_failed,
      .command = command_line(o)};
  const auto folder = sweep_folder(config, options);
  s.err << "sweep folder " << folder.string() << '\n';
  const auto result = run_sweep(config, options);
  if (!is_complete(result, config)) {
    s.err << "interrupted; resume with: " << options.command << '\n';
    return 1;
  }
  s.out << read_file(folder / "results.md");
  if (count_runs(result).failed == 0) return 0;
  s.err << fmt::format("some runs failed: {} says why; rerun them with: {} --retry-failed\n",
                       (folder / "results.csv").string(), options.command);
  return 1;
}

}  // namespace

Command sweep_command() {
  return {
      "sweep", "train a recipe with many settings and tabulate the results", [](CLI::App& app) {
        const auto o = std::make_shared<SweepCommandOptions>();
        app.add_option("file", o->file, "sweep file (YAML)")->type_name("FILE")->required();
        app.add_option("--out", o->out, "parent of the sweep folder")
            ->type_name("FOLDER")
            ->capture_default_str();
        app.add_option("--workers", o->workers,
                       "processes at once, on each host; 0 = as the sweep file says")
            ->capture_default_str()
            ->check(at_least(0));
        add_hosts(app, o->hosts, o->ssh);
        app.add_flag("--retry-failed", o->retry_failed, "rerun failed runs");
        app.add_flag(
            "--smoke", o->smoke,
            "a small sweep NAME-smoke: one seed, two values per axis, two seconds per run");
        app.footer(
            "The same command resumes an interrupted sweep. OUT/NAME holds results.md, "
            "results.csv, results.png\nand the runs, each with its log. The exit code is 1 if runs "
            "are missing or failed.\nWith --hosts, each host needs this program, the current "
            "folder and OUT under the same paths (a shared\nfile system).");
        return [o](Streams s) { return run_sweep_command(*o, s); };
      }};
}

}  // namespace vitrine::cli
