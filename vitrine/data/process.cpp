#include "vitrine/data/process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "vitrine/core/error.h"

namespace vitrine {

ProcessResult run_process(const std::vector<std::string>& command, const fs::path& folder) {
  int ends[2];
  const bool piped = ::pipe2(ends, O_CLOEXEC) == 0;
  check(piped, "process: no pipe: {}", std::strerror(errno));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addchdir_np(&actions, folder.c_str());
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
  std::vector<char*> arguments;
  for (const auto& part : command) arguments.push_back(const_cast<char*>(part.c_str()));
  arguments.push_back(nullptr);
  pid_t child = 0;
  const int failed =
      ::posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  ProcessResult result;
  char buffer[4096];
  for (ssize_t count; !failed && (count = ::read(ends[0], buffer, sizeof buffer)) != 0;) {
    if (count > 0) result.output.append(buffer, count);
    if (count < 0 && errno != EINTR) break;
  }
  ::close(ends[0]);
  check(!failed, "process: cannot start '{}': {}", command[0], std::strerror(failed));
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  result.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

}  // namespace vitrine
