// Real processes, really killed: a run that was stopped in any way and resumed ends with the same
// bits as one that never stopped.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <chrono>
#include <thread>

#include "tests/support/errors.h"
#include "tests/support/small_checkpoint.h"
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

/// Two kinds of run: a ViT with dropout and average weights; a CNN with running statistics,
/// momentum and batches added up.
const std::vector<std::string> kVit = {};
const std::vector<std::string> kCnn = {
    "model={name: resnet18, image: 16, classes: 4, stem: cifar, blocks: [1]}",
    "train.optimizer.kind=sgd",
    "train.optimizer.lr=0.02",
    "train.accumulate=2",
    "train.ema=0",
    "train.epochs=3"};

class Resume : public testing::Test {
 protected:
  Resume() { write_file_atomically(folder_ / "small.yaml", test::small_recipe()); }

  std::vector<std::string> train(const std::string& out) const {
    std::vector<std::string> line = {"train", folder_ / "small.yaml", "train.checkpoint_steps=3"};
    line.insert(line.end(), overrides_.begin(), overrides_.end());
    line.insert(line.end(), {"--threads", "2", "--out", folder_ / out});
    return line;
  }
  std::vector<std::string> resume(const fs::path& run) const {
    return {"train", "--resume", run.string()};
  }
  fs::path log() const { return folder_ / "log.txt"; }

  /// Trains without any stop, to compare with.
  void train_whole() {
    EXPECT_EQ(finish(start(train("whole"), log())), 0) << read_file(log());
    whole_ = test::only_run(folder_ / "whole");
  }

  /// Starts a run and stops it by `signal` as soon as `file` of its folder exists.
  fs::path stopped_by(int signal, const std::string& out, const std::string& file) {
    const auto child = start(train(out), log());
    fs::path run;
    for (int i = 0; i < 4000; ++i) {
      run = test::only_run(folder_ / out);
      if (!run.empty() && fs::exists(run / file)) break;
      std::this_thread::sleep_for(milliseconds(5));
    }
    ::kill(child, signal);
    code_ = finish(child);
    return run;
  }

  void expect_same_as_whole(const fs::path& run) {
    for (const auto* file : {kLast, "checkpoints/best.safetensors"})
      EXPECT_TRUE(test::same_tensors(whole_ / file, run / file)) << file;
  }

  void kill_again_and_again(const std::vector<std::string>& overrides);

  static constexpr const char* kState = "checkpoints/resume.safetensors";
  static constexpr const char* kLast = "checkpoints/last.safetensors";

  test::TemporaryFolder folder_;
  std::vector<std::string> overrides_;
  fs::path whole_;
  int code_ = 0;
};

void Resume::kill_again_and_again(const std::vector<std::string>& overrides) {
  overrides_ = overrides;
  train_whole();
  const auto run = stopped_by(SIGKILL, "killed", kState);  // written before the first step
  Random random({42});
  int kills = 1;
  for (int i = 0; i < 10; ++i) {  // more kills, at any moment of start-up, training or writing
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
  for (const auto& entry : fs::directory_iterator(run / "checkpoints"))
    EXPECT_EQ(entry.path().extension(), ".safetensors") << "left behind: " << entry.path();
}

}  // namespace

TEST_F(Resume, AKilledVitEndsWithTheSameBits) { kill_again_and_again(kVit); }

TEST_F(Resume, AKilledCnnEndsWithTheSameBits) { kill_again_and_again(kCnn); }

TEST_F(Resume, AKilledStudentEndsWithTheSameBits) {
  const auto teacher = folder_ / "teacher.safetensors";
  test::save_small_checkpoint(teacher, "resnet18", {"model.blocks=[1]", "model.stem=cifar"});
  kill_again_and_again({"model.distilled=true", "train.teacher=" + teacher.string(),
                        "train.distillation.kind=soft"});
}

TEST_F(Resume, ARunFromPreTrainedWeightsNeedsThemNoMoreAndEndsWithTheSameBits) {
  const auto init = folder_ / "init.safetensors";
  auto settings = test::kSmallVit;
  settings.emplace_back("data.dataset.classes=3");
  settings.emplace_back("model.classes=3");
  test::save_small_checkpoint(init, "vit_c10_small", settings);
  overrides_ = {"init=" + init.string(), "train.freeze=1", "train.optimizer.layer_decay=0.75"};
  train_whole();
  const auto run = stopped_by(SIGKILL, "killed", kState);
  fs::remove(init);
  EXPECT_EQ(finish(start(resume(run), log())), 0) << read_file(log());
  expect_same_as_whole(run);
}

TEST_F(Resume, CtrlCSavesSaysHowToGoOnAndEndsWithTheSameBits) {
  train_whole();
  const auto run = stopped_by(SIGINT, "interrupted", kLast);
  EXPECT_EQ(code_, 1);
  EXPECT_TRUE(test::contains(read_file(log()), "vitrine train --resume " + run.string()));
  EXPECT_EQ(finish(start(resume(run), log())), 0) << read_file(log());
  expect_same_as_whole(run);
}

TEST_F(Resume, AFullDiskWhileCheckpointingLeavesTheEarlierStateIntact) {
  train_whole();
  const auto run = stopped_by(SIGKILL, "full", kLast);
  const auto before = read_file(run / kState);
  const auto limit = "trap '' XFSZ; ulimit -f 40; ";  // no file beyond 20 KiB
  EXPECT_EQ(finish(start(resume(run), log(), limit)), 1);
  EXPECT_TRUE(test::contains(read_file(log()), (run / "checkpoints").string()));
  EXPECT_TRUE(test::contains(read_file(log()), "free space"));
  EXPECT_EQ(read_file(run / kState), before);
  EXPECT_EQ(finish(start(resume(run), log())), 0) << read_file(log());
  expect_same_as_whole(run);
}

TEST_F(Resume, AFinishedRunStaysAsItIs) {
  train_whole();
  const auto before = read_file(whole_ / kLast);
  EXPECT_EQ(finish(start(resume(whole_), log())), 0) << read_file(log());
  EXPECT_EQ(read_file(whole_ / kLast), before);
}

TEST_F(Resume, RefusesAnotherRecipeAndWhatIsNotARun) {
  train_whole();
  EXPECT_EQ(finish(start(resume(folder_.path()), log())), 1);
  EXPECT_TRUE(test::contains(read_file(log()), "is not a run folder"));
  auto other = train("ignored");
  other.insert(other.end(), {"--resume", whole_.string(), "train.epochs=9"});
  EXPECT_EQ(finish(start(other, log())), 1);
  EXPECT_TRUE(test::contains(read_file(log()), "is not the recipe of"));
}

TEST_F(Resume, RefusesTheStateOfAnotherModelAndLeavesEverythingAsItWas) {
  const auto run = stopped_by(SIGKILL, "one", kLast);
  overrides_ = {"model.dim=16"};
  const auto other = stopped_by(SIGKILL, "other", kState);
  fs::copy_file(other / kState, run / kState, fs::copy_options::overwrite_existing);
  const auto before = read_file(run / kLast);
  EXPECT_EQ(finish(start(resume(run), log())), 1);
  EXPECT_TRUE(test::contains(read_file(log()), "belongs to another model"));
  EXPECT_EQ(read_file(run / kState), read_file(other / kState));
  EXPECT_EQ(read_file(run / kLast), before);
}

}  // namespace vitrine
