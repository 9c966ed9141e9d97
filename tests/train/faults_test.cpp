// A run whose files cannot be written, whose memory ends, whose machine loses its power: at every
// call that matters, the error is told and what was saved before can be resumed.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <torch/torch.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iostream>

#include "tests/support/errors.h"
#include "tests/support/file_calls.h"
#include "tests/support/power_loss.h"
#include "tests/support/program.h"
#include "tests/support/scarce_memory.h"
#include "tests/support/training.h"
#include "vitrine/core/folder_lock.h"
#include "vitrine/core/settings.h"
#include "vitrine/data/waves.h"
#include "vitrine/models/model.h"
#include "vitrine/train/run.h"
#include "vitrine/train/run_state.h"
#include "vitrine/weights/checkpoint.h"

namespace vitrine {
namespace {

using Kind = test::FileCall::Kind;

/// As small as a run can be that writes every kind of file more than once.
Recipe tiny_recipe() {
  Recipe recipe;
  Settings::from_text(
      "{name: tiny, model: {name: wave_rnn, cell: rnn, hidden: 2}, data: {dataset: {name: waves, "
      "length: 3}, batch: 8}, train: {epochs: 1, checkpoint_steps: 1, log_steps: 1, optimizer: "
      "{kind: sgd, lr: 0.01}}}",
      "test")
      .read_into(recipe);
  return recipe;
}

class Faults : public testing::Test {
 protected:
  Faults() { torch::set_num_threads(1); }

  RunOptions options(const fs::path& run) const {
    return {.threads = std::nullopt,
            .folder = run,
            .show_progress = false,
            .write_reports = false,
            .data = &data_};
  }

  RunOutcome start(const fs::path& run) const { return run_recipe(recipe_, options(run)); }

  /// What a user does after an error: resumes the run or, if it has no state, starts it again.
  RunOutcome finish(const fs::path& run) const {
    if (fs::exists(RunFolder::open(run).resume())) return resume_run(run, options({}));
    fs::remove_all(run);
    return start(run);
  }

  static std::vector<std::pair<std::string, Metrics>> lines(const fs::path& run) {
    std::vector<std::pair<std::string, Metrics>> all;
    for (const auto& line : read_metrics(run / "metrics.jsonl")) {
      auto values = line.values;
      std::erase_if(values, [](const auto& value) {  // those differ by the time it took
        return value.first.find("second") != std::string::npos || value.first == "waited_share";
      });
      all.emplace_back(line.kind + std::to_string(line.step), values);
    }
    return all;
  }

  void expect_same(const fs::path& whole, const fs::path& run, const RunOutcome& outcome) const {
    for (const auto* file : {"checkpoints/best.safetensors", "checkpoints/last.safetensors"})
      EXPECT_TRUE(test::same_tensors(whole / file, run / file)) << file;
    EXPECT_EQ(lines(whole), lines(run));
    EXPECT_EQ(read_run_outcome(whole / "result.json").test, outcome.test);
    for (const auto& entry : fs::recursive_directory_iterator(run))
      EXPECT_NE(entry.path().extension(), ".tmp") << "left behind: " << entry.path();
  }

  /// Runs with such a fault at each call, one after the other; returns how many there are.
  size_t fail_at_every_call(int error, bool lasting) {
    const auto whole = folder_ / "whole";
    size_t calls = 0;
    {
      const test::WatchedFiles watched(folder_.path());
      start(whole);
      calls = watched.count();
    }
    const auto run = folder_ / "run";
    for (size_t call = 1; call <= calls && !testing::Test::HasFailure(); ++call) {
      SCOPED_TRACE(fmt::format("call {} of {}: {}", call, calls, std::strerror(error)));
      fs::remove_all(run);
      {
        const test::WatchedFiles watched(folder_.path(),
                                         {.call = call, .error = error, .lasting = lasting});
        const auto message = test::error_of([&] { start(run); });
        EXPECT_TRUE(test::contains(message, folder_.path().string()));
        EXPECT_TRUE(test::contains(message, std::strerror(error)));
      }
      expect_same(whole, run, fs::exists(run / "recipe.yaml") ? finish(run) : start(run));
    }
    return calls;
  }

  test::TemporaryFolder folder_;
  const Recipe recipe_ = tiny_recipe();
  const Splits data_ = waves({.length = 3, .train = 16, .validation = 8, .test = 8}, 1);
};

}  // namespace

TEST_F(Faults, AnErrorOfTheDiskAtAnyCallIsToldAndTheRunCanBeResumed) {
  std::cout << fail_at_every_call(EIO, /*lasting=*/false) << " calls\n";
}

TEST_F(Faults, ADiskThatIsFullFromAnyCallOnIsToldAndTheRunCanBeResumed) {
  std::cout << fail_at_every_call(ENOSPC, /*lasting=*/true) << " calls\n";
}

TEST_F(Faults, WithoutMemoryForAnyAllocationTheEarlierStateIsWhole) {
  if (!test::ScarceMemory::is_possible()) GTEST_SKIP() << "sanitizers manage the memory";
  const auto folder = RunFolder::create_at(folder_ / "run");
  const auto model = recipe_.model.build();
  const Optimizer optimizer(recipe_.train.optimizer, model->parameter_info());
  const auto save = [&](int64_t step) {
    save_run_state(folder, *model, nullptr, optimizer, {.step = step});
  };
  save(1);
  const auto is_whole = [&](bool saved) {
    for (const auto& entry : fs::directory_iterator(folder.path() / "checkpoints"))
      if (entry.path().extension() != ".safetensors") return false;
    const auto note = recover_run_state(folder);
    return note.empty() && (!saved || read_run_position(folder).step == 2);
  };
  // In another process: destructors of nlohmann's JSON allocate a little, and end it if they
  // cannot. That is then as if it had been killed, and the next process goes on behind it.
  auto* tried = static_cast<int64_t*>(
      ::mmap(nullptr, sizeof(int64_t), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  constexpr int kAllTried = 0, kWrong = 1;
  int64_t ended = 0;
  for (int code = -1; code == -1;) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::close(STDERR_FILENO);
      for (bool has_failed = true; has_failed;) {
        bool saved = true;
        {
          const test::ScarceMemory scarce(++*tried);
          try {
            save(2);
          } catch (const std::exception&) {
            saved = false;
          }
          has_failed = scarce.has_failed();
        }
        if (!is_whole(saved)) ::_exit(kWrong);
        save(1);
      }
      ::_exit(kAllTried);
    }
    code = test::finish(child);
    ASSERT_NE(code, kWrong) << "allocation " << *tried;
    if (code == -1) ++ended;
    folder.remove_leftovers();
    ASSERT_TRUE(is_whole(/*saved=*/false)) << "allocation " << *tried;
  }
  EXPECT_GT(*tried, 500);
  EXPECT_LT(ended, *tried / 5);
  std::cout << fmt::format("{} allocations, of which {} ended the process\n", *tried - 1, ended);
  ::munmap(tried, sizeof(int64_t));
}

TEST_F(Faults, AfterAPowerCutTheRunIsResumedOrRefused) {
  fs::create_directory(folder_ / "disk");
  const auto run = folder_ / "disk" / "run";
  std::vector<test::FileCall> calls;
  {
    const test::WatchedFiles watched(folder_ / "disk");
    start(run);
    calls = watched.calls();
  }

  // What the disk may hold at any moment, and whether a state had been saved for certain.
  test::PowerLoss disk(folder_ / "disk");
  std::map<test::FolderContent, bool> contents;
  size_t states = 0;
  bool renamed = false, saved = false;
  for (const auto& call : calls) {
    disk.apply(call);
    renamed =
        renamed || (call.kind == Kind::Rename && call.target.ends_with("/resume.safetensors"));
    saved = saved || (renamed && call.kind == Kind::Sync && call.path.ends_with("/checkpoints"));
    for (auto content : disk.possible_contents()) {
      ++states;
      // Those are removed unread.
      for (auto& [path, data] : content)
        if (path.ends_with(".tmp")) data.clear();
      contents[content] |= saved;
    }
  }

  size_t resumed = 0, refused = 0;
  const auto cut = folder_ / "cut";
  for (const auto& [content, must_resume] : contents) {
    fs::remove_all(cut);
    fs::create_directory(cut);
    std::string held = "the disk holds";
    for (const auto& [path, data] : content) {
      held += fmt::format(" {} ({})", path, data.size());
      if (path.ends_with('/'))
        fs::create_directory(cut / path);
      else
        std::ofstream(cut / path, std::ios::binary) << data;
    }
    SCOPED_TRACE(held);
    try {
      const auto outcome = resume_run(cut / "run", options({}));
      ++resumed;
      expect_same(run, cut / "run", outcome);
    } catch (const Error& e) {
      ++refused;
      EXPECT_FALSE(must_resume) << e.what();
    }
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(resumed, 50u);
  EXPECT_GT(refused, 0u);
  std::cout << fmt::format(
      "{} calls, {} states of the disk, {} of them different: {} resumed, {} refused\n",
      calls.size(), states, contents.size(), resumed, refused);
}

TEST_F(Faults, ARunDoesNotTouchAFolderWhereAnotherIsAboutToBegin) {
  fs::create_directory(folder_ / "run");
  const FolderLock another(folder_ / "run", "");
  const auto message = test::error_of([&] { start(folder_ / "run"); });
  EXPECT_TRUE(test::contains(message, "another process is at work"));
  EXPECT_FALSE(fs::exists(folder_ / "run" / "recipe.yaml"));
}

TEST_F(Faults, ARunDoesNotWriteIntoAnotherFolderOfItsName) {
  auto replaced = options(folder_ / "run");
  replaced.on_metrics = [&](const MetricsLine&) {
    fs::remove_all(folder_ / "run");
    fs::create_directories(folder_ / "run" / "checkpoints");
  };
  const auto message = test::error_of([&] { run_recipe(recipe_, replaced); });
  EXPECT_TRUE(test::contains(message, "moved, removed or replaced")) << message;
  EXPECT_TRUE(test::contains(message, (folder_ / "run").string())) << message;
  EXPECT_TRUE(fs::is_empty(folder_ / "run" / "checkpoints"));
  EXPECT_FALSE(fs::exists(folder_ / "run" / "metrics.jsonl"));
}

}  // namespace vitrine
