#pragma once

#include <optional>
#include <string>
#include <vector>

#include "vitrine/core/child_process.h"
#include "vitrine/core/files.h"
#include "vitrine/core/remote_shell.h"
#include "vitrine/studies/sweep_result.h"

namespace vitrine {

/// How runs are started: `PROGRAM train RECIPE ... --threads N`, here or through `shell`.
struct TrainProgram {
  fs::path program, recipe;
  int64_t threads = 1;
  std::optional<RemoteShell> shell{};
};

/// A run to be made. Next to its folder are FOLDER.log, all that its process said, and, after a
/// failure, FOLDER.failed with the reason.
struct SweepJob {
  fs::path folder;
  std::vector<std::string> overrides;  // key=value
  int64_t seed = 0;
};

/// What the run has come to, or nothing if it still has to be made or finished.
std::optional<SweepRun> stored_result(const SweepJob& job);
/// Forgets that the run failed, so that it is rerun.
void forget_failure(const SweepJob& job);

/// A process that makes one run, or resumes one that was interrupted. It never outlives us.
class SweepWorker {
 public:
  /// `host`: where it works, if the program is started through a shell.
  SweepWorker(const TrainProgram& train, SweepJob job, std::string host = "");

  const SweepJob& job() const { return job_; }
  const std::string& host() const { return host_; }
  /// Whether the process has ended; does not wait.
  bool ended() { return process_.ended(); }
  /// The last line that the process said: its progress.
  std::string last_words() const;
  /// Asks the process to save its run and end.
  void interrupt() const { process_.interrupt(); }
  /// Whether the process, now ended, did all it was asked to.
  bool succeeded() const;
  /// Why its host, rather than the run, failed; empty if it did not.
  std::string host_failure(const TrainProgram& train) const;
  /// What the run came to, once the process has ended; notes a failure beside the folder.
  SweepRun result() const;

 private:
  std::string failure() const;

  SweepJob job_;
  std::string host_;
  ChildProcess process_;
};

}  // namespace vitrine
