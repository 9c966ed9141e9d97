#include "vitrine/core/child_process.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <sstream>

#include "vitrine/core/error.h"

namespace vitrine {
namespace {

std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const auto& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

/// Ours, with these in front: of two of the same name the first counts.
std::vector<std::string> environment_with(
    const std::vector<std::pair<std::string, std::string>>& more) {
  std::vector<std::string> all;
  for (const auto& [name, value] : more) all.push_back(name + "=" + value);
  for (char** entry = ::environ; *entry != nullptr; ++entry) all.emplace_back(*entry);
  return all;
}

/// In the new process: only calls that are safe after a fork. Output that is -1 stays.
[[noreturn]] void become(char* const* arguments, char* const* environment, pid_t parent, int input,
                         int output) {
  // Ctrl-C in a terminal goes to a whole process group, and a second one ends `train` unsaved: in a
  // group of its own it gets only the one that `signal` sends.
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);  // it died before the line above
  ::dup2(input, STDIN_FILENO);
  if (output >= 0) {
    ::dup2(output, STDOUT_FILENO);
    ::dup2(output, STDERR_FILENO);
  }
  ::execve(arguments[0], arguments, environment);
  constexpr int kCannotStart = 127;
  ::_exit(kCannotStart);
}

}  // namespace

fs::path this_program() { return fs::read_symlink("/proc/self/exe"); }

fs::path find_program(const std::string& word) {
  const auto runs = [](const fs::path& path) {
    return fs::is_regular_file(path) && ::access(path.c_str(), X_OK) == 0;
  };
  if (word.find('/') != std::string::npos) return runs(word) ? word : "";
  const char* path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');)
    if (runs(fs::path(folder) / word)) return fs::path(folder) / word;
  return "";
}

ChildProcess::ChildProcess(const std::vector<std::string>& command, const ChildOptions& options) {
  const auto environment = environment_with(options.environment);
  const auto arguments = pointers_to(command), variables = pointers_to(environment);
  int log = -1;
  if (!options.log.empty()) {
    log = ::open(options.log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (log < 0) fail("cannot write {}: {}", options.log.string(), std::strerror(errno));
  }
  int input = -1;
  if (options.attached) {
    int ends[2] = {-1, -1};
    check(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0, "cannot start {}: {}",
          command[0], std::strerror(errno));
    input_ = ends[0];
    input = ends[1];
  } else {
    input = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  }
  const pid_t parent = ::getpid();
  process_ = ::fork();
  if (process_ == 0) become(arguments.data(), variables.data(), parent, input, log);
  const int fork_error = errno;
  ::close(input);
  if (log >= 0) ::close(log);
  check(process_ > 0, "cannot start {}: {}", command[0], std::strerror(fork_error));
}

ChildProcess::~ChildProcess() {
  if (input_ >= 0) ::close(input_);
  if (status_) return;
  ::kill(process_, SIGKILL);
  while (::waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

bool ChildProcess::ended() {
  if (status_) return true;
  int status = 0;
  const pid_t who = ::waitpid(process_, &status, WNOHANG);
  check(who >= 0 || errno == EINTR, "lost process {}: {}", process_, std::strerror(errno));
  if (who == process_) status_ = status;
  return status_.has_value();
}

void ChildProcess::signal(int number) const {
  if (!status_) ::kill(process_, number);
}

void ChildProcess::interrupt() const {
  if (input_ >= 0)
    (void)::send(input_, "\n", 1, MSG_NOSIGNAL);  // no answer: it has ended, which is seen anyway
  else
    signal(SIGINT);
}

std::optional<int> ChildProcess::exit_code() const {
  return status_ && WIFEXITED(*status_) ? std::optional(WEXITSTATUS(*status_)) : std::nullopt;
}

std::string ChildProcess::end_text() const {
  const auto code = exit_code();
  return code ? fmt::format("exit code {}", *code) : fmt::format("signal {}", WTERMSIG(*status_));
}

}  // namespace vitrine
