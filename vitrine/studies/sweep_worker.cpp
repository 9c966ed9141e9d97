#include "vitrine/studies/sweep_worker.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "vitrine/core/error.h"

namespace vitrine {
namespace {

fs::path beside(const fs::path& folder, const char* ending) {
  auto path = folder;
  path += ending;
  return path;
}

fs::path log_of(const SweepJob& job) { return beside(job.folder, ".log"); }
fs::path failure_of(const SweepJob& job) { return beside(job.folder, ".failed"); }
fs::path result_of(const SweepJob& job) { return job.folder / "result.json"; }

SweepRun read_result(const SweepJob& job) {
  auto outcome = read_run_outcome(result_of(job));
  return {.seed = job.seed, .outcome = std::move(outcome), .folder = job.folder};
}

std::string last_line(const std::string& text) {
  constexpr auto kBlank = " \t\r\n";
  const auto end = text.find_last_not_of(kBlank);
  if (end == std::string::npos) return "";
  const auto line_end = text.find_last_of("\r\n", end);
  const auto begin = line_end == std::string::npos ? 0 : line_end + 1;
  return text.substr(begin, end + 1 - begin);
}

/// The command that makes the run or resumes it. What a kill before the first checkpoint left
/// behind is removed.
std::vector<std::string> prepare(const TrainProgram& train, const SweepJob& job) {
  std::vector<std::string> command = {train.program, "train"};
  if (fs::exists(job.folder / "checkpoints" / "resume.safetensors")) {
    command.insert(command.end(), {"--resume", job.folder});
  } else {
    fs::remove_all(job.folder);
    fs::remove(log_of(job));
    command.push_back(train.recipe);
    command.insert(command.end(), job.overrides.begin(), job.overrides.end());
    command.insert(command.end(), {"--run", job.folder});
  }
  command.insert(command.end(), {"--threads", std::to_string(train.threads)});
  return command;
}

/// In the new process: only calls that are safe after a fork.
[[noreturn]] void become(char* const* arguments, pid_t parent, int input, int log) {
  // Ctrl-C in a terminal goes to a whole process group, and a second one ends `train` unsaved: in a
  // group of its own it gets only the one that `interrupt` sends.
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);  // it died before the line above
  ::dup2(input, STDIN_FILENO);
  ::dup2(log, STDOUT_FILENO);
  ::dup2(log, STDERR_FILENO);
  ::execv(arguments[0], arguments);
  constexpr int kCannotStart = 127;
  ::_exit(kCannotStart);
}

pid_t start(const std::vector<std::string>& command, const fs::path& log_file) {
  std::vector<char*> arguments;
  for (const auto& part : command) arguments.push_back(const_cast<char*>(part.c_str()));
  arguments.push_back(nullptr);
  const int input = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  const int log = ::open(log_file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  const int log_error = errno;
  const pid_t parent = ::getpid();
  const pid_t child = log >= 0 ? ::fork() : -1;
  if (child == 0) become(arguments.data(), parent, input, log);
  const int fork_error = errno;
  ::close(input);
  if (log >= 0) ::close(log);
  check(log >= 0, "sweep: cannot write {}: {}", log_file.string(), std::strerror(log_error));
  check(child > 0, "sweep: cannot start {}: {}", command[0], std::strerror(fork_error));
  return child;
}

}  // namespace

fs::path this_program() { return fs::read_symlink("/proc/self/exe"); }

std::optional<SweepRun> stored_result(const SweepJob& job) {
  if (fs::exists(failure_of(job)))
    return SweepRun{
        .seed = job.seed, .error = last_line(read_file(failure_of(job))), .folder = job.folder};
  if (fs::exists(result_of(job))) return read_result(job);
  return std::nullopt;
}

void forget_failure(const SweepJob& job) { fs::remove(failure_of(job)); }

SweepWorker::SweepWorker(const TrainProgram& train, SweepJob job)
    : job_(std::move(job)), process_(start(prepare(train, job_), log_of(job_))) {}

SweepWorker::~SweepWorker() {
  if (status_) return;
  ::kill(process_, SIGKILL);
  while (::waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

bool SweepWorker::ended() {
  if (status_) return true;
  int status = 0;
  const pid_t who = ::waitpid(process_, &status, WNOHANG);
  check(who >= 0 || errno == EINTR, "sweep: lost process {}: {}", process_, std::strerror(errno));
  if (who == process_) status_ = status;
  return status_.has_value();
}

void SweepWorker::interrupt() const {
  if (!status_) ::kill(process_, SIGINT);
}

bool SweepWorker::succeeded() const {
  return status_ && WIFEXITED(*status_) && WEXITSTATUS(*status_) == 0 &&
         fs::exists(result_of(job_));
}

std::string SweepWorker::failure() const {
  const auto said = last_line(read_file(log_of(job_)));
  if (WIFSIGNALED(*status_))
    return fmt::format("ended by signal {}{}{}", WTERMSIG(*status_), said.empty() ? "" : ": ",
                       said);
  if (WEXITSTATUS(*status_) == 0) return "ended without a result";
  return said.empty() ? fmt::format("exit code {}", WEXITSTATUS(*status_)) : said;
}

SweepRun SweepWorker::result() const {
  if (succeeded()) return read_result(job_);
  write_file_atomically(failure_of(job_), failure() + "\n");
  return *stored_result(job_);
}

}  // namespace vitrine
