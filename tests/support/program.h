#pragma once

#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <vector>

#include "vitrine/core/files.h"

namespace vitrine::test {

/// The program, started in the background with its output in `log`. It is killed when it has used
/// `lifetime` of processor time, which does not depend on what else the machine does; 0: never.
inline pid_t start(const std::vector<std::string>& arguments, const fs::path& log,
                   const std::string& before = "", std::chrono::microseconds lifetime = {}) {
  std::string line = before + "exec '" VITRINE_PROGRAM "'";
  for (const auto& a : arguments) line += " '" + a + "'";
  line += " > '" + log.string() + "' 2>&1";
  const pid_t child = ::fork();
  if (child == 0) {
    constexpr int64_t kSecond = 1'000'000;
    const itimerval timer{.it_interval = {},
                          .it_value = {lifetime.count() / kSecond, lifetime.count() % kSecond}};
    ::setitimer(ITIMER_PROF, &timer, nullptr);  // outlives exec; its signal ends the process
    ::execl("/bin/sh", "sh", "-c", line.c_str(), nullptr);
    ::_exit(127);
  }
  return child;
}

/// Waits for its end: the exit code, or -1 if a signal ended it.
inline int finish(pid_t child, rusage* usage = nullptr) {
  int status = 0;
  ::wait4(child, &status, 0, usage);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace vitrine::test
