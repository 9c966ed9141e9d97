#include "vitrine/plot/gnuplot.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "vitrine/core/error.h"
#include "vitrine/core/files.h"

namespace vitrine::plot {
namespace {

class ScratchFolder {
 public:
  ScratchFolder() {
    std::error_code error;
    const auto parent = fs::temp_directory_path(error);
    check(!error, "figure: no folder for temporary files: {}; set TMPDIR to one", error.message());
    auto pattern = (parent / "vitrine-figure-XXXXXX").string();
    const bool made = ::mkdtemp(pattern.data()) != nullptr;
    check(made, "figure: cannot make a folder in {}: {}; set TMPDIR to another", parent.string(),
          std::strerror(errno));
    path_ = pattern;
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  ~ScratchFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }

  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

/// What to tell the child about its folder, streams and process group.
class SpawnPlan {
 public:
  explicit SpawnPlan(const fs::path& folder) {
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_addchdir_np(&actions, folder.c_str());
    ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "messages",
                                       O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ::posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
    // A group of its own: Ctrl-C asks us to finish, not gnuplot to die over a half-drawn figure.
    ::posix_spawnattr_init(&attributes);
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;
  ~SpawnPlan() {
    ::posix_spawn_file_actions_destroy(&actions);
    ::posix_spawnattr_destroy(&attributes);
  }

  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
};

void run_in(const fs::path& folder) {
  SpawnPlan plan(folder);
  std::string words[] = {"gnuplot", "--default-settings", "figure.gp"};
  char* arguments[] = {words[0].data(), words[1].data(), words[2].data(), nullptr};
  pid_t child = 0;
  const int error =
      ::posix_spawnp(&child, "gnuplot", &plan.actions, &plan.attributes, arguments, environ);
  check(error == 0,
        "figure: cannot start gnuplot: {}; install it (on Debian: apt-get install gnuplot-nox)",
        std::strerror(error));
  int status = 0;
  while (::waitpid(child, &status, 0) < 0)
    check(errno == EINTR, "figure: lost gnuplot: {}", std::strerror(errno));
  check(WIFEXITED(status) && WEXITSTATUS(status) == 0,
        "figure: gnuplot failed; if this is not gnuplot 5.4 or later with the pngcairo terminal, "
        "install gnuplot-nox. It said: {}",
        read_file(folder / "messages"));
}

}  // namespace

std::vector<std::string> run_gnuplot(const std::string& script, const NamedBytes& files,
                                     const std::vector<std::string>& outputs) {
  const ScratchFolder folder;
  write_file_atomically(folder.path() / "figure.gp", script);
  for (const auto& [name, bytes] : files) write_file_atomically(folder.path() / name, bytes);
  run_in(folder.path());
  std::vector<std::string> results;
  for (const auto& name : outputs) results.push_back(read_file(folder.path() / name));
  return results;
}

}  // namespace vitrine::plot
