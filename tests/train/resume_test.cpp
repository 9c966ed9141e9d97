// Real processes, really killed: a run that was stopped in any way and resumed ends with the same
// bits as one that never stopped.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <chrono>
#include <thread>

#include "tests/support/errors.h"
#include "tests/support/program.h"
#include "tests/support/small_checkpoint.h"
#include "tests/support/training.h"
#include "vitrine/core/random.h"
#include "vitrine/train/metrics.h"
#include "vitrine/train/run_state.h"

namespace vitrine {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using test::finish;
using test::start;

microseconds processor_time(const rusage& usage) {
  const auto time = [](const timeval& t) {
    return std::chrono::seconds(t.tv_sec) + microseconds(t.tv_usec);
  };
  return time(usage.ru_utime) + time(usage.ru_stime);
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
    rusage usage{};
    EXPECT_EQ(finish(start(train("whole"), log()), &usage), 0) << read_file(log());
    whole_ = test::only_run(folder_ / "whole");
    whole_time_ = processor_time(usage);
  }

  /// Starts a run, stops it by `signal` as soon as `file` of its folder exists, and waits until the
  /// signal has worked: its process and its folder. On a busy machine a run may finish before the
  /// signal comes; another is started then.
  std::pair<pid_t, fs::path> stopped(int signal, const std::string& out, const std::string& file) {
    for (;;) {
      const auto child = start(train(out), log());
      const auto has_ended = [&] {
        siginfo_t info{};
        return ::waitid(P_PID, child, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0;
      };
      const auto run = [&] { return test::only_run(folder_ / out); };
      while (!has_ended() && (run().empty() || !fs::exists(run() / file)))
        std::this_thread::sleep_for(milliseconds(5));
      ::kill(child, signal);
      siginfo_t info{};
      ::waitid(P_PID, child, &info, WEXITED | WSTOPPED | WNOWAIT);
      const auto folder = run();
      EXPECT_FALSE(folder.empty() || !fs::exists(folder / file)) << read_file(log());
      if (testing::Test::HasFailure() || !read_run_position(RunFolder::open(folder)).finished)
        return {child, folder};
      ::kill(child, SIGKILL);
      finish(child);
      fs::remove_all(folder_ / out);
    }
  }

  /// The same for a signal that ends the run.
  fs::path stopped_by(int signal, const std::string& out, const std::string& file) {
    const auto [child, run] = stopped(signal, out, file);
    code_ = finish(child);
    return run;
  }

  void expect_same_as_whole(const fs::path& run) {
    for (const auto* file : {kLast, "checkpoints/best.safetensors"})
      EXPECT_TRUE(test::same_tensors(whole_ / file, run / file)) << file;
  }

  static void expect_only_checkpoints(const fs::path& run) {
    for (const auto& entry : fs::directory_iterator(run / "checkpoints"))
      EXPECT_EQ(entry.path().extension(), ".safetensors") << "left behind: " << entry.path();
  }

  void kill_again_and_again(const std::vector<std::string>& overrides);

  static constexpr const char* kState = "checkpoints/resume.safetensors";
  static constexpr const char* kPrevious = "checkpoints/resume.previous.safetensors";
  static constexpr const char* kLast = "checkpoints/last.safetensors";

  test::TemporaryFolder folder_;
  std::vector<std::string> overrides_;
  fs::path whole_;
  microseconds whole_time_{};  // of the processor
  int code_ = 0;
};

void Resume::kill_again_and_again(const std::vector<std::string>& overrides) {
  overrides_ = overrides;
  train_whole();
  const auto run = stopped_by(SIGKILL, "killed", kState);  // written before the first step
  Random random({42});
  int kills = 1;
  for (int i = 0; i < 10; ++i) {  // more kills, at any moment of start-up, training or writing
    // The first is short: on a busy machine the whole run may have cost far more than another does.
    const microseconds lifetime = whole_time_ * (5 + random.below(i == 0 ? 25 : 60)) / 100;
    const int code = finish(start(resume(run), log(), "", lifetime));
    if (code == 0) break;
    EXPECT_EQ(code, -1) << read_file(log());
    ++kills;
  }
  EXPECT_EQ(finish(start(resume(run), log())), 0) << read_file(log());
  EXPECT_GE(kills, 2);
  expect_same_as_whole(run);
  expect_only_checkpoints(run);
}

}  // namespace

TEST_F(Resume, AKilledVitEndsWithTheSameBits) { kill_again_and_again(kVit); }

TEST_F(Resume, AKilledCnnEndsWithTheSameBits) { kill_again_and_again(kCnn); }

TEST_F(Resume, AKilledRunNotesTheEvaluationsInsideItsEpochsOnce) {
  kill_again_and_again({"train.evaluate_steps=4", "train.checkpoint_steps=5"});
  const auto evaluations = [](const fs::path& run) {
    std::vector<std::pair<int64_t, double>> noted;
    for (const auto& line : read_metrics(run / "metrics.jsonl"))
      if (line.kind == "evaluation") noted.emplace_back(line.step, line.value("validation_loss"));
    return noted;
  };
  const auto expected = evaluations(whole_);
  EXPECT_EQ(expected.size(), 16u);  // of 18 steps in each of four epochs; one falls on an end
  EXPECT_EQ(evaluations(test::only_run(folder_ / "killed")), expected);
}

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

TEST_F(Resume, IsRefusedWhileAnotherProcessIsAtWork) {
  const auto [child, run] = stopped(SIGSTOP, "busy", kState);
  const auto half_written = run / "checkpoints" / "resume.safetensors.1.tmp";
  write_file_atomically(half_written, "text");
  const auto second = folder_ / "second.txt";
  EXPECT_EQ(finish(start(resume(run), second)), 1);
  EXPECT_TRUE(test::contains(read_file(second), "another process is at work in " + run.string()));
  EXPECT_TRUE(fs::exists(half_written));
  ::kill(child, SIGCONT);
  EXPECT_EQ(finish(child), 0) << read_file(log());
}

TEST_F(Resume, RemovesWhatAKilledProcessLeftButNoFileOfTheUser) {
  const auto run = stopped_by(SIGKILL, "killed", kState);
  const auto half_written = run / "checkpoints" / "resume.safetensors.1.tmp";
  const auto notes = run / "notes.tmp";
  for (const auto& file : {half_written, notes}) write_file_atomically(file, "text");
  EXPECT_EQ(finish(start(resume(run), log())), 0) << read_file(log());
  EXPECT_FALSE(fs::exists(half_written));
  EXPECT_TRUE(fs::exists(notes));
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

TEST_F(Resume, LeavesNothingBehindIfItWasKilledJustBeforeWritingAState) {
  train_whole();
  const auto run = stopped_by(SIGKILL, "killed", kState);
  fs::remove(run / kPrevious);
  fs::create_hard_link(run / kState, run / kPrevious);  // as it is between the two steps of saving
  EXPECT_EQ(finish(start(resume(run), log())), 0) << read_file(log());
  expect_same_as_whole(run);
  expect_only_checkpoints(run);
}

TEST_F(Resume, GoesBackToTheStateBeforeADamagedOneAndEndsWithTheSameBits) {
  train_whole();
  const auto run = stopped_by(SIGKILL, "damaged", kLast);
  ASSERT_TRUE(fs::exists(run / kPrevious));
  auto bytes = read_file(run / kState);
  bytes[bytes.size() / 2] ^= 1;
  write_file_atomically(run / kState, bytes);
  EXPECT_EQ(finish(start(resume(run), log())), 0) << read_file(log());
  EXPECT_TRUE(test::contains(read_file(log()), "continues from the state before that one"));
  expect_same_as_whole(run);
}

TEST_F(Resume, RefusesAStateOfANewerProgramAndKeepsIt) {
  const auto run = stopped_by(SIGKILL, "newer", kLast);
  ASSERT_TRUE(fs::exists(run / kPrevious));
  auto file = load_safetensors(run / kState);
  EXPECT_EQ(file.metadata.at("format_version"), "1");
  file.metadata["format_version"] = "2";
  save_safetensors(run / kState, file);
  const auto before = read_file(run / kState);
  EXPECT_EQ(finish(start(resume(run), log())), 1);
  EXPECT_TRUE(test::contains(read_file(log()), "was written by a newer vitrine"));
  EXPECT_EQ(read_file(run / kState), before);
}

TEST_F(Resume, SaysWhatIsDamagedIfThereIsNoOtherState) {
  const auto run = stopped_by(SIGKILL, "damaged", kState);
  fs::remove(run / kPrevious);
  fs::resize_file(run / kState, 100);
  EXPECT_EQ(finish(start(resume(run), log())), 1);
  EXPECT_TRUE(test::contains(read_file(log()), kState));
}

TEST_F(Resume, RefusesARecipeOrDataThatWereChangedButForTheLength) {
  const auto run = stopped_by(SIGKILL, "edited", kLast);
  const auto recipe = read_file(run / "recipe.yaml");
  const auto before = read_file(run / kState);
  const auto resume_with = [&](const std::string& old_text, const std::string& new_text) {
    auto text = recipe;
    const auto at = text.find(old_text);
    EXPECT_NE(at, std::string::npos) << old_text << " is not in\n" << recipe;
    text.replace(at, old_text.size(), new_text);
    write_file_atomically(run / "recipe.yaml", text);
    return finish(start(resume(run), log()));
  };
  EXPECT_EQ(resume_with("batch: 16", "batch: 8"), 1);
  EXPECT_TRUE(test::contains(read_file(log()), "data.batch 8 instead of 16"));
  EXPECT_EQ(resume_with("seed: 3", "seed: 4"), 1);
  EXPECT_TRUE(test::contains(read_file(log()), "seed 4 instead of 3"));
  EXPECT_EQ(resume_with("train: 320", "train: 300"), 1);
  EXPECT_TRUE(test::contains(read_file(log()), "began with 288, 32, 64 examples"));
  EXPECT_EQ(read_file(run / kState), before);
  EXPECT_EQ(resume_with("epochs: 4", "epochs: 5"), 0) << read_file(log());
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
