#include "vitrine/studies/sweep_worker.h"

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

/// The same for a host: a `launch` of one process there, which can be interrupted from here and
/// ends with us.
std::vector<std::string> prepare_on(const std::string& host, const TrainProgram& train,
                                    const SweepJob& job) {
  auto command = prepare(train, job);
  if (host.empty()) return command;
  command.insert(command.begin() + 1, {"launch", "--attached", "--ranks", "1"});
  return train.shell->on(host, command);
}

}  // namespace

std::optional<SweepRun> stored_result(const SweepJob& job) {
  if (fs::exists(failure_of(job)))
    return SweepRun{
        .seed = job.seed, .error = last_line(read_file(failure_of(job))), .folder = job.folder};
  if (fs::exists(result_of(job))) return read_result(job);
  return std::nullopt;
}

void forget_failure(const SweepJob& job) { fs::remove(failure_of(job)); }

SweepWorker::SweepWorker(const TrainProgram& train, SweepJob job, std::string host)
    : job_(std::move(job)),
      host_(std::move(host)),
      process_(prepare_on(host_, train, job_), {.log = log_of(job_), .attached = !host_.empty()}) {}

std::string SweepWorker::host_failure(const TrainProgram& train) const {
  const auto code = process_.exit_code();
  return host_.empty() || !code ? "" : train.shell->failure(host_, {train.program}, *code);
}

bool SweepWorker::succeeded() const {
  return process_.exit_code() == 0 && fs::exists(result_of(job_));
}

std::string SweepWorker::last_words() const {
  return fs::exists(log_of(job_)) ? last_line(read_file(log_of(job_))) : "";
}

std::string SweepWorker::failure() const {
  const auto said = last_words();
  const auto code = process_.exit_code();
  if (!code)
    return fmt::format("ended by {}{}{}", process_.end_text(), said.empty() ? "" : ": ", said);
  if (code == 0) return "ended without a result";
  return said.empty() ? process_.end_text() : said;
}

SweepRun SweepWorker::result() const {
  if (succeeded()) return read_result(job_);
  write_file_atomically(failure_of(job_), failure() + "\n");
  return *stored_result(job_);
}

}  // namespace vitrine
