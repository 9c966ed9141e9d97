// Real processes, really killed: a run that was stopped in any way and resumed ends with the same
// bits as one that never stopped.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <chrono>
#include <thread>

#include "tests/support/errors.h"
#include "tests/support/training.h"
#include "vitrine/core/random.h"

namespace vitrine {
namespace {

using std::chrono::milliseconds;

/// The program, started in the background with its output in `log`.
pid_t start(const std::vector<std::string>& arguments, const fs::path& log,
            const std::string& before = "") {
  std::string line = before + "exec '" VITRINE_PROGRAM "'";
  for (const auto& a : arguments) line += " '" + a + "'";
  line += " > '" + log.string() + "' 2>&1";
  const pid_t child = ::fork();
  if (child == 0) {
    ::execl("/bin/sh", "sh", "-c", line.c_str(), nullptr);
    ::_exit(127);
  }
  return child;
}

int exit_code(int status) { return WIFEXITED(status) ? WEXITSTATUS(status) : -1; }

int finish(pid_t child) {
  int status = 0;
  ::waitpid(child, &status, 0);
  return exit_code(status);
}

class Resume : public testing::Test {
 protected:
  Resume() {
    write_file_atomically(folder_ / "small.yaml", test::small_recipe());
    EXPECT_EQ(finish(start(train("whole"), log())), 0) << read_file(log());
    whole_ = test::only_run(folder_ / "whole");
  }

  std::vector<std::string> train(const std::string& out) const {
    return {"train", folder_ / "small.yaml", "train.checkpoint_steps=3", "--threads", "2",
            "--out", folder_ / out};
  }
  std::vector<std::string> resume(const fs::path& run) const {
    return {"train", "--resume", run.string()};
  }
  fs::path log() const { return folder_ / "log.txt"; }

  /// Starts a run and stops it by `signal` once it has a resume state.
  fs::path stopped_by(int signal, const std::string& out) {
    const auto child = start(train(out), log());
    fs::path run;
    for (int i = 0; i < 2000; ++i) {
      run = test::only_run(folder_ / out);
      if (!run.empty() && fs::exists(run / "checkpoints" / "resume.safetensors")) break;
      std::this_thread::sleep_for(milliseconds(5));
    }
    ::kill(child, signal);
    code_ = finish(child);
    return run;
  }

  void expect_same_as_whole(const fs::path& run) {
    for (const auto* name : {"last.safetensors", "best.safetensors"})
      EXPECT_TRUE(test::same_tensors(whole_ / "checkpoints" / name, run / "checkpoints" / name))
          << name;
  }

  test::TemporaryFolder folder_;
  fs::path whole_;
  int code_ = 0;
};

}  // namespace

TEST_F(Resume, AKilledRunEndsWithTheSameBits) {
  auto run = stopped_by(SIGKILL, "killed");
  Random random({42});
  int kills = 1;
  for (int i = 0; i < 12; ++i) {  // more kills, at any moment of start-up, training or writing
    const auto child = start(resume(run), log());
    std::this_thread::sleep_for(milliseconds(300 + random.below(900)));
    int status = 0;
    if (::waitpid(child, &status, WNOHANG) == 0) {
      ::kill(child, SIGKILL);
      ::waitpid(child, &status, 0);
      ++kills;
    }
    if (exit_code(status) == 0) break;
  }
  EXPECT_EQ(finish(start(resume(run), log())), 0) << read_file(log());
  EXPECT_GE(kills, 2);
  expect_same_as_whole(run);
}

TEST_F(Resume, CtrlCSavesSaysHowToGoOnAndEndsWithTheSameBits) {
  const auto run = stopped_by(SIGINT, "interrupted");
  EXPECT_EQ(code_, 1);
  EXPECT_TRUE(test::contains(read_file(log()), "vitrine train --resume " + run.string()));
  EXPECT_EQ(finish(start(resume(run), log())), 0) << read_file(log());
  expect_same_as_whole(run);
}

TEST_F(Resume, AFullDiskWhileCheckpointingLeavesTheEarlierStateIntact) {
  const auto run = stopped_by(SIGKILL, "full");
  const auto state = run / "checkpoints" / "resume.safetensors";
  const auto before = read_file(state);
  const auto limit = "trap '' XFSZ; ulimit -f 40; ";  // no file beyond 20 KiB
  EXPECT_EQ(finish(start(resume(run), log(), limit)), 1);
  EXPECT_TRUE(test::contains(read_file(log()), "free space"));
  EXPECT_EQ(read_file(state), before);
  EXPECT_EQ(finish(start(resume(run), log())), 0) << read_file(log());
  expect_same_as_whole(run);
}

TEST_F(Resume, AFinishedRunStaysAsItIs) {
  const auto before = read_file(whole_ / "checkpoints" / "last.safetensors");
  EXPECT_EQ(finish(start(resume(whole_), log())), 0) << read_file(log());
  EXPECT_EQ(read_file(whole_ / "checkpoints" / "last.safetensors"), before);
}

TEST_F(Resume, RefusesWhatIsNotARunOrHasOverrides) {
  EXPECT_EQ(finish(start(resume(folder_.path()), log())), 1);
  EXPECT_TRUE(test::contains(read_file(log()), "is not a run folder"));
  auto with_override = resume(whole_);
  with_override.push_back("train.epochs=9");
  EXPECT_EQ(finish(start(with_override, log())), 1);
}

}  // namespace vitrine
