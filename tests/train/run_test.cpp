// An experiment from recipe to result.json, as a library call and as a command.
#include "vitrine/train/run.h"

#include <pty.h>
#include <sys/wait.h>
#include <torch/torch.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <regex>
#include <set>

#include "tests/support/command.h"
#include "tests/support/errors.h"
#include "tests/support/training.h"
#include "vitrine/data/image_batches.h"
#include "vitrine/infer/device.h"
#include "vitrine/train/evaluate.h"
#include "vitrine/train/predictions.h"
#include "vitrine/train/run_state.h"
#include "vitrine/train/trainer.h"
#include "vitrine/weights/checkpoint.h"

namespace vitrine {
namespace {

class Running : public testing::Test {
 protected:
  Running() { write_file_atomically(recipe_, test::small_recipe()); }

  Recipe recipe(const std::vector<std::string>& overrides) const {
    return read_recipe(recipe_.string(), overrides);
  }

  /// What the run says, line by line.
  RunOutcome run(const std::vector<std::string>& overrides, const std::string& name) {
    messages_.clear();
    return run_recipe(recipe(overrides),
                      {.threads = 2,
                       .folder = folder_ / name,
                       .show_progress = false,
                       .on_message = [&](const std::string& text) { messages_.push_back(text); }});
  }

  std::vector<std::string> messages_with(const std::string& part) const {
    std::vector<std::string> found;
    for (const auto& message : messages_)
      if (message.find(part) != std::string::npos) found.push_back(message);
    return found;
  }

  test::TemporaryFolder folder_;
  fs::path recipe_ = folder_ / "small.yaml";
  std::vector<std::string> messages_;
};

/// A folder of programs without gnuplot for as long as it lives.
class NoPrograms {
 public:
  NoPrograms() { ::setenv("PATH", "/nonexistent", /*overwrite=*/1); }
  NoPrograms(const NoPrograms&) = delete;
  NoPrograms& operator=(const NoPrograms&) = delete;
  ~NoPrograms() { ::setenv("PATH", path_.c_str(), /*overwrite=*/1); }

 private:
  std::string path_ = std::getenv("PATH");
};

/// Sends this process SIGINT when its examples are loaded for the first time, and counts the loads.
class Interrupting : public BatchSource {
 public:
  explicit Interrupting(std::shared_ptr<BatchSource> source) : source_(std::move(source)) {}
  int64_t size() const override { return source_->size(); }
  Batch load(const std::vector<int64_t>& indices, int64_t epoch) const override {
    if (loads++ == 0) std::raise(SIGINT);
    return source_->load(indices, epoch);
  }
  mutable std::atomic<int64_t> loads = 0;

 private:
  std::shared_ptr<BatchSource> source_;
};

}  // namespace

TEST_F(Running, AutoTakesThePrecisionThatTheDeviceIsFastIn) {
  const auto taken = [&](const std::vector<std::string>& more) {
    auto overrides = more;
    overrides.insert(overrides.end(), {"train.epochs=1", "train.precision=auto"});
    const auto name = std::to_string(more.size());
    run(overrides, name);
    return read_recipe((folder_ / name / "recipe.yaml").string(), {}).train.precision;
  };
  const auto fast = has_fast_bfloat16("cpu") ? Precision::BFloat16 : Precision::Float32;
  EXPECT_EQ(taken({}), fast);
  EXPECT_EQ(taken({"train.recompute=true"}), fast);
}

TEST_F(Running, TheOutcomeIsThatOfResultJsonWithBothSplits) {
  const auto outcome = run({"train.epochs=3"}, "run");
  const auto stored = read_run_outcome(folder_ / "run" / "result.json");
  EXPECT_EQ(outcome.stop_reason, StopReason::Finished);
  EXPECT_EQ(stored.validation, outcome.validation);
  EXPECT_EQ(stored.test, outcome.test);
  EXPECT_EQ(stored.selection_metric.name, "accuracy");
  EXPECT_TRUE(stored.selection_metric.higher_is_better);
  EXPECT_EQ(stored.folder, folder_ / "run");
  EXPECT_GT(stored.parameters, 0);

  // The validation metrics are those of the checkpoint that was tested.
  const auto [model, info] = load_checkpoint(folder_ / "run");
  auto config = recipe({}).data;
  const auto data = open_data(resolved_data_config(config), /*seed=*/3);
  const auto objective = make_objective(data, ObjectiveSettings(/*smoothing=*/0));
  const auto validation = evaluate(*model, *data.validation, *objective, {.batch = 16});
  EXPECT_NEAR(validation.loss, stored.validation_loss(), 1e-5);
  const auto test = evaluate(*model, *data.test, *objective, {.batch = 16});
  EXPECT_NEAR(test.loss, stored.test_loss(), 1e-5);
}

TEST_F(Running, PredictionsJsonHasEveryTestExampleUnderItsOwnIndex) {
  const auto outcome = run({"train.epochs=2"}, "run");
  const auto whole = read_predictions(folder_ / "run" / "predictions.json");
  ASSERT_EQ(whole.examples.size(), 64u);
  EXPECT_EQ(whole.classes.size(), 4u);
  double right = 0;
  for (int64_t i = 0; i < 64; ++i) {
    const auto& e = whole.examples[i];
    EXPECT_EQ(e.index, i);
    EXPECT_EQ(e.truth, i % 4);
    EXPECT_GE(e.probability, 0.25 - 1e-5);
    EXPECT_LE(e.truth_probability, e.probability);
    EXPECT_EQ(e.truth_probability == e.probability, e.truth == e.predicted) << i;
    right += e.truth == e.predicted;
  }
  EXPECT_NEAR(right / 64, outcome.test_value(), 1e-9);

  // Over its budget a run is tested in random order, and perhaps not on all examples.
  run({"train.epochs=1000", "train.budget_seconds=0.01", "data.batch=4"}, "budget");
  const auto some = read_predictions(folder_ / "budget" / "predictions.json");
  std::set<int64_t> seen;
  bool in_order = true;
  for (const auto& e : some.examples) {
    in_order = in_order && e.index == std::ssize(seen);
    EXPECT_EQ(e.truth, e.index % 4);
    EXPECT_TRUE(seen.insert(e.index).second) << e.index;
  }
  EXPECT_GE(seen.size(), 4u);
  EXPECT_FALSE(in_order);
}

TEST_F(Running, SaysOneLinePerEpochAndMarksTheBest) {
  const auto outcome = run({"train.epochs=4"}, "run");
  int64_t marked = 0;
  for (int64_t epoch = 1; epoch <= 4; ++epoch) {
    const auto lines = messages_with(fmt::format("epoch {}/4: train accuracy ", epoch));
    ASSERT_EQ(lines.size(), 1u) << epoch;
    EXPECT_TRUE(test::contains(lines[0], " % (loss "));
    EXPECT_TRUE(test::contains(lines[0], ", validation accuracy "));
    if (lines[0].find("* best so far") != std::string::npos)
      ++marked;
    else
      EXPECT_TRUE(test::contains(lines[0], " at epoch "));
  }
  EXPECT_GE(marked, 1);
  EXPECT_EQ(messages_with("test accuracy ").size(), 1u);
  EXPECT_EQ(outcome.epochs, 4);
}

TEST_F(Running, ManyClassesAreAlsoMeasuredByTopFiveAccuracy) {
  const auto outcome = run({"train.epochs=1", "data.dataset.classes=12", "model.classes=12",
                            "train.class_weights=balanced"},
                           "run");
  const auto stored = read_run_outcome(folder_ / "run" / "result.json");
  for (const auto& split : {stored.validation, stored.test}) {
    EXPECT_GE(metric_value(split, "accuracy_top5"), metric_value(split, "accuracy"));
    EXPECT_LE(metric_value(split, "accuracy_top5"), 1);
  }
  const auto lines = read_metrics(folder_ / "run" / "metrics.jsonl");
  EXPECT_EQ(lines.back().value("accuracy_top5"), metric_value(stored.test, "accuracy_top5"));
  EXPECT_FALSE(std::isnan(lines[lines.size() - 2].value("validation_accuracy_top5")));
  const auto evaluated = test::run_command({"eval", (folder_ / "run").string(), "--threads", "2"});
  ASSERT_EQ(evaluated.code, 0) << evaluated.err;
  EXPECT_TRUE(test::contains(evaluated.out, "accuracy_top5  "));
}

TEST_F(Running, TheCommandSaysEveryEpoch) {
  const auto outcome = test::run_command(
      {"train", recipe_.string(), "train.epochs=2", "--run", folder_ / "run", "--threads", "2"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  for (const auto* part : {"epoch 1/2: train accuracy ", "epoch 2/2: ", "validation accuracy "})
    EXPECT_TRUE(test::contains(outcome.err, part));
}

/// Runs the program on a terminal of its own; gives all that it showed there.
std::string shown_on_a_terminal(const std::string& command) {
  int terminal = -1;
  const pid_t child = ::forkpty(&terminal, nullptr, nullptr, nullptr);
  if (child == 0) {
    ::execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
    ::_exit(127);
  }
  std::string shown;
  char bytes[4096];
  for (ssize_t n; (n = ::read(terminal, bytes, sizeof bytes)) > 0;)
    shown.append(bytes, static_cast<size_t>(n));
  ::close(terminal);
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << shown;
  return shown;
}

TEST_F(Running, ATerminalShowsTheSameLinePerEpochAsAPipe) {
  const auto train = [&](const std::string& run) {
    return fmt::format("'{}' train '{}' train.epochs=3 --threads 2 --run '{}'", VITRINE_PROGRAM,
                       recipe_.string(), (folder_ / run).string());
  };
  const auto log = folder_ / "log";
  ASSERT_EQ(std::system((train("piped") + " 2> '" + log.string() + "' > /dev/null").c_str()), 0);
  const auto piped = read_file(log), terminal = shown_on_a_terminal(train("terminal"));
  const std::regex line(
      "epoch ([123])/3: train accuracy [0-9.]+ % \\(loss [0-9.]+\\), validation accuracy [0-9.]+ % "
      "\\(loss [0-9.]+\\), (\\* best so far|best [0-9.]+ % at epoch [123]), [0-9.:]+( s)?");
  const auto epochs = [&](const std::string& text) {
    std::string found;
    for (std::sregex_iterator it(text.begin(), text.end(), line), end; it != end; ++it)
      found += (*it)[1];
    return found;
  };
  EXPECT_EQ(epochs(piped), "123") << piped;
  EXPECT_EQ(epochs(terminal), "123") << terminal;
}

TEST_F(Running, AFigureThatFailsDoesNotLoseTheResult) {
  const NoPrograms no_gnuplot;
  const auto outcome = test::run_command(
      {"train", recipe_.string(), "train.epochs=1", "--run", folder_ / "run", "--threads", "2"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(test::contains(outcome.err, "note: "));
  EXPECT_TRUE(fs::exists(folder_ / "run" / "result.json"));
  EXPECT_TRUE(fs::exists(folder_ / "run" / "classification_report.txt"));
}

TEST_F(Running, TiesInTheSelectionMetricGoToTheLowerLoss) {
  // Two validation images and tiny steps: the accuracy hardly moves, the loss falls.
  const auto outcome = run({"train.epochs=6", "train.optimizer.lr=1e-4", "train.ema=0",
                            "data.validation=0.02", "data.augment.mixup=0"},
                           "run");
  double best = -1, loss = 0;
  int64_t epoch = 0;
  for (const auto& line : read_metrics(folder_ / "run" / "metrics.jsonl")) {
    if (line.kind != "epoch") continue;
    const double here = line.value("validation_accuracy"),
                 here_loss = line.value("validation_loss");
    if (here < best || (here == best && here_loss >= loss)) continue;
    best = here, loss = here_loss, epoch = line.epoch;
  }
  EXPECT_EQ(outcome.validation_value(), best);
  EXPECT_EQ(outcome.validation_loss(), loss);
  EXPECT_EQ(load_checkpoint(folder_ / "run").info.epoch, epoch);
  const auto position = read_run_position(RunFolder::open(folder_ / "run"));
  EXPECT_EQ(position.best, outcome.validation);
  EXPECT_EQ(position.best_epoch, epoch);
}

TEST_F(Running, DataAndModelCanBeGivenAndTheTestSplitIsReadOnceAtTheEnd) {
  /// Counts how often its examples are loaded.
  class Counted : public BatchSource {
   public:
    Counted(std::shared_ptr<BatchSource> source, std::vector<std::string>& log)
        : source_(std::move(source)), log_(log) {}
    int64_t size() const override { return source_->size(); }
    Batch load(const std::vector<int64_t>& indices, int64_t epoch) const override {
      for (size_t i = 0; i < indices.size(); ++i) log_.emplace_back("test");
      return source_->load(indices, epoch);
    }

   private:
    std::shared_ptr<BatchSource> source_;
    std::vector<std::string>& log_;
  };
  const auto r = recipe({"train.epochs=2", "data.workers=1"});
  auto data = open_data(resolved_data_config(r.data), static_cast<uint64_t>(r.seed));
  std::vector<std::string> log;
  const auto tests = data.test->size();
  data.test = std::make_unique<Counted>(std::move(data.test), log);
  const auto outcome =
      run_recipe(r, {.threads = std::nullopt,
                     .folder = folder_ / "run",
                     .show_progress = false,
                     .write_reports = false,
                     .data = &data,
                     .model = build_for_training(r, data),
                     .on_metrics = [&](const MetricsLine& line) { log.push_back(line.kind); }});
  EXPECT_EQ(outcome.epochs, 2);
  EXPECT_EQ(std::count(log.begin(), log.end(), "test"), tests + 1);
  const auto first_test = std::find(log.begin(), log.end(), "test");
  EXPECT_EQ(std::find(first_test, log.end(), "epoch"), log.end());
  EXPECT_FALSE(fs::exists(folder_ / "run" / "curves.png"));
  EXPECT_TRUE(fs::exists(folder_ / "run" / "result.json"));
}

TEST_F(Running, ResumingAFinishedRunGivesTheSameOutcome) {
  const auto outcome = run({"train.epochs=2"}, "run");
  const auto again = resume_run(folder_ / "run", {.threads = 2, .show_progress = false});
  EXPECT_EQ(again.validation, outcome.validation);
  EXPECT_EQ(again.test, outcome.test);
  EXPECT_EQ(again.stop_reason, outcome.stop_reason);
}

TEST_F(Running, AnInterruptedEvaluationStopsAtOnceAndTheResumedRunEndsWithTheSameBits) {
  const std::vector<std::string> overrides = {"train.epochs=2", "data.validation=0.4",
                                              "data.dataset.test=320", "data.workers=1"};
  const auto whole = run(overrides, "whole");
  const auto r = recipe(overrides);
  for (const auto split : {Split::Validation, Split::Test}) {
    auto data = open_data(resolved_data_config(r.data), static_cast<uint64_t>(r.seed));
    auto interrupting = std::make_unique<Interrupting>(std::move(data.get(split)));
    const auto& source = *interrupting;
    data.get(split) = std::move(interrupting);
    const auto folder = folder_ / split_name(split);
    const auto stopped =
        run_recipe(r, {.threads = 2, .folder = folder, .show_progress = false, .data = &data});
    EXPECT_EQ(stopped.stop_reason, StopReason::Interrupted);
    EXPECT_LE(source.loads, 7);  // of 8 or 20: one is evaluated, some are prepared ahead
    EXPECT_FALSE(fs::exists(folder / "result.json"));
    EXPECT_EQ(stopped.epochs, split == Split::Test ? 2 : 0);

    const auto resumed = resume_run(folder, {.threads = 2, .show_progress = false});
    EXPECT_EQ(resumed.stop_reason, StopReason::Finished);
    EXPECT_EQ(resumed.validation, whole.validation);
    EXPECT_EQ(resumed.test, whole.test);
    EXPECT_TRUE(test::same_tensors(folder / "checkpoints/last.safetensors",
                                   folder_ / "whole/checkpoints/last.safetensors"));
    EXPECT_TRUE(fs::exists(folder / "result.json"));
  }
}

TEST_F(Running, RefusesToResumeARunWhoseRecipeNowEndsBeforeItsEpoch) {
  const auto folder = folder_ / "run";
  const auto until_epoch_3 = [](const MetricsLine& line) {
    if (line.kind == "epoch" && line.epoch == 3) std::raise(SIGINT);
  };
  const auto stopped = run_recipe(
      recipe({"train.epochs=6"}),
      {.threads = 2, .folder = folder, .show_progress = false, .on_metrics = until_epoch_3});
  ASSERT_EQ(stopped.stop_reason, StopReason::Interrupted);
  auto text = read_file(folder / "recipe.yaml");
  const auto at = text.find("epochs: 6");
  ASSERT_NE(at, std::string::npos);
  write_file_atomically(folder / "recipe.yaml", text.replace(at, 9, "epochs: 2"));
  const auto message = test::error_of([&] { resume_run(folder, {.show_progress = false}); });
  EXPECT_TRUE(test::contains(message, "has trained 3 epochs, its recipe now says train.epochs 2"));
}

TEST_F(Running, EvalRefusesWhatTheWeightsDecide) {
  run({"train.epochs=1"}, "run");
  const auto path = (folder_ / "run").string();
  for (const auto* override : {"model.depth=3", "train.epochs=2", "name=other"}) {
    const auto refused = test::run_command({"eval", path, override});
    EXPECT_EQ(refused.code, 2) << override;
    EXPECT_TRUE(test::contains(refused.err, "cannot be changed for a trained model; only data.*"));
  }
  EXPECT_EQ(test::run_command({"eval", path, "data.batch=8", "seed=4"}).code, 0);
}

}  // namespace vitrine
