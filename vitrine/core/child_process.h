#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "vitrine/core/files.h"

namespace vitrine {

/// The program that calls.
fs::path this_program();
/// The program that a shell would start for this word; empty if there is none.
fs::path find_program(const std::string& word);

struct ChildOptions {
  fs::path log{};  // where its output is appended; empty: the output of this process
  std::vector<std::pair<std::string, std::string>> environment{};  // besides ours
  // It reads its input, which stays open as long as this object: a byte asks it to stop, the end
  // of the input ends it. So it works through ssh, too.
  bool attached = false;
};

/// Another process that never outlives this one. Ctrl-C in a terminal does not reach it: see
/// `interrupt`.
class ChildProcess {
 public:
  /// `command`: the path of a program and its arguments.
  explicit ChildProcess(const std::vector<std::string>& command, const ChildOptions& options = {});
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;
  /// Kills it if it has not ended.
  ~ChildProcess();

  /// Whether it has ended; does not wait.
  bool ended();
  void signal(int number) const;
  /// Asks it to save its work and stop.
  void interrupt() const;
  /// Of one that has ended: its exit code, or nothing if a signal ended it.
  std::optional<int> exit_code() const;
  /// Of one that has ended: "exit code 1" or "signal 9".
  std::string end_text() const;

 private:
  pid_t process_ = -1;
  int input_ = -1;               // our end of its input, if it is attached
  std::optional<int> status_{};  // as waitpid gives it
};

}  // namespace vitrine
