#include "vitrine/studies/sweep_runner.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <fstream>
#include <functional>
#include <sstream>
#include <thread>

#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"

namespace vitrine {
namespace {

/// Plays `vitrine train`: notes how it was called, then leaves a result that depends on
/// model.embed. 13 fails; 4 is over budget; 8 hangs as long as there is a file "hold"; Ctrl-C saves
/// the run.
constexpr auto kProgram = R"(#!/bin/sh
home=$(dirname "$0")
echo "$*" >> "$home/calls"
lr=0
for argument in "$@"; do
  case $before in --run|--resume) run=$argument ;; esac
  case $argument in
    model.embed=*) embed=${argument#*=} ;;
    seed=*) seed=${argument#*=} ;;
    train.optimizer.lr=*) lr=${argument#*=} ;;
  esac
  before=$argument
done
mkdir -p "$run/checkpoints"
if [ -f "$run/place" ]; then . "$run/place"; fi
echo "embed=$embed seed=$seed" > "$run/place"
echo "working on $embed"
trap 'touch "$run/checkpoints/resume.safetensors"; exit 1' INT
if [ "$embed" = 8 ] && [ -f "$home/hold" ]; then
  echo $$ > "$home/pid.part" && mv "$home/pid.part" "$home/pid"
  while [ -f "$home/hold" ]; do sleep 0.05; done
fi
case $embed in
  4) reason=over_budget accuracy=0.5 ;;
  8) reason=finished accuracy=0.9$seed ;;
  13) echo "error: 13 brings \"bad luck\", always" >&2; echo >&2; exit 1 ;;
  *) reason=reached_goal accuracy=1 ;;
esac
[ "$lr" = 3e-3 ] && reason=reached_goal
echo "{\"stop_reason\": \"$reason\", \"epochs\": 5, \"steps\": 50, \"seconds\": 0.$seed,
  \"selection_metric\": \"accuracy\", \"unit\": \"%\", \"higher_is_better\": true, \"log_scale\": false,
  \"validation\": {\"loss\": 0.25, \"accuracy\": 0.5}, \"test\": {\"loss\": null, \"accuracy\": $accuracy},
  \"parameters\": $((embed * 100)), \"checkpoint_bytes\": $((embed * 400))}" \
  > "$run/result.json"
)";

/// What the runs' settings are checked against.
const std::string kRecipe = "name: r\nmodel: {name: addition_cnn}\ndata: {dataset: addition}\n";

class SweepRunner : public testing::Test {
 protected:
  SweepRunner() {
    write_file_atomically(folder_ / "r.yaml", kRecipe);
    write_file_atomically(program(), kProgram);
    fs::permissions(program(), fs::perms::owner_all);
  }

  fs::path program() const { return folder_ / "vitrine"; }
  fs::path sweep() const { return folder_ / "out" / "s"; }

  SweepConfig config(const std::string& more) const {
    write_file_atomically(folder_ / "s.yaml", "name: s\nrecipe: r.yaml\n" + more);
    return read_sweep(folder_ / "s.yaml");
  }

  SweepOptions options() const {
    return {.out = folder_ / "out", .program = program(), .command = "vitrine sweep s.yaml"};
  }

  SweepResult run(const std::string& more) const { return run_sweep(config(more), options()); }

  /// How often `vitrine train` was called with `part` in its arguments.
  int64_t calls(const std::string& part) const {
    if (!fs::exists(folder_ / "calls")) return 0;
    std::istringstream lines(read_file(folder_ / "calls"));
    int64_t count = 0;
    for (std::string line; std::getline(lines, line);) count += line.find(part) != line.npos;
    return count;
  }

  void hold() const { write_file_atomically(folder_ / "hold", ""); }
  void let_go() const {
    fs::remove(folder_ / "hold");
    fs::remove(folder_ / "pid");
  }

  /// A process that ended but that nobody has waited for yet does not live.
  static bool lives(pid_t process) {
    std::ifstream stat("/proc/" + std::to_string(process) + "/stat");
    std::string line;
    return std::getline(stat, line) && line.find(") Z ") == line.npos;
  }

  static bool comes_true(const std::function<bool()>& condition) {
    for (int i = 0; i < 15000; ++i) {  // five minutes: the machine may be busy
      if (condition()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return false;
  }

  test::TemporaryFolder folder_;
};

}  // namespace

TEST_F(SweepRunner, MakesEveryRunOnceAndTabulatesThem) {
  const auto text =
      "seeds: [1, 2]\nworkers: 3\nbudget: 60\nset: {model.embed: 16, model.layers: 2}\n"
      "one_at_a_time: {model.embed: [4, 8, 16], model.layers: [1, 2]}\n";
  const auto result = run(text);
  ASSERT_EQ(result.points.size(), 5u);
  EXPECT_TRUE(is_complete(result, config(text)));
  EXPECT_EQ(calls(""), 8);  // of ten, two are shared
  EXPECT_EQ(
      calls((sweep() / "recipe.yaml").string() +
            " model.embed=8 model.layers=2 seed=2 train.budget_seconds=60 --run " +
            (sweep() / "runs" / "model.embed=8,model.layers=2,seed=2").string() + " --threads 1"),
      1);
  EXPECT_TRUE(result.points[0].runs[0].stopped(StopReason::OverBudget));
  EXPECT_TRUE(result.points[1].runs[1].stopped(StopReason::Finished));
  EXPECT_DOUBLE_EQ(result.points[1].runs[1].outcome->test_value(), 0.92);
  EXPECT_TRUE(std::isnan(result.points[1].runs[1].outcome->test_loss()));
  EXPECT_TRUE(result.points[2].runs[0].stopped(StopReason::ReachedGoal));
  EXPECT_EQ(result.points[2].runs[0].outcome->parameters, 1600);
  EXPECT_EQ(read_file(sweep() / "runs" / "model.embed=8,model.layers=2,seed=2.log"),
            "working on 8\n");
  EXPECT_TRUE(test::contains(read_file(sweep() / "results.csv"),
                             "\n16,1,2,reached_goal,,1,0.25,0.5,5,0.200,1600,6400,\n"));
  EXPECT_TRUE(test::contains(read_file(sweep() / "results.md"), " 91.50 ± 0.71 |"));
  const auto drawing = read_file(sweep() / "results.svg");
  for (const auto* label : {"model.embed", "model.layers", "accuracy %", "validation", "test"})
    EXPECT_TRUE(test::contains(drawing, label));
  EXPECT_TRUE(fs::exists(sweep() / "results.png"));

  const auto again = run(text);
  EXPECT_EQ(calls(""), 8);
  EXPECT_EQ(again.points[1].runs[1].outcome->test_value(),
            result.points[1].runs[1].outcome->test_value());
}

TEST_F(SweepRunner, GivesWhatIsStoredBesideASweepAtWorkAndLeavesOutWhatHasChanged) {
  const std::string text = "seeds: [1]\ngrid: {model.embed: [4, 8]}\n";
  auto stored = options();
  stored.only_stored = true;
  const auto given = [&](const std::string& more) { return run_sweep(config(more), stored); };
  EXPECT_FALSE(is_complete(given(text), config(text)));
  EXPECT_FALSE(fs::exists(sweep()));
  hold();
  std::thread working([&] { run(text); });
  ASSERT_TRUE(comes_true([&] { return fs::exists(folder_ / "pid"); }));
  EXPECT_EQ(given(text).points[0].runs.size(), 1u);
  let_go();
  working.join();
  EXPECT_TRUE(is_complete(given(text), config(text)));
  const auto other = text + "set: {model.layers: 2}\n";
  EXPECT_FALSE(is_complete(given(other), config(other)));
  EXPECT_TRUE(is_complete(given(text), config(text)));
  EXPECT_EQ(calls(""), 2);
}

TEST_F(SweepRunner, ReportsFailuresAndRepeatsThemOnlyWhenAsked) {
  const auto text = "grid: {model.embed: [13, 16]}\n";
  const auto result = run(text);
  EXPECT_TRUE(result.points[0].runs[0].failed());
  EXPECT_EQ(result.points[0].runs[0].error, "error: 13 brings \"bad luck\", always");
  EXPECT_TRUE(result.points[1].runs[0].stopped(StopReason::ReachedGoal));
  EXPECT_TRUE(test::contains(read_file(sweep() / "results.csv"),
                             "\"error: 13 brings \"\"bad luck\"\", always\""));
  run(text);
  EXPECT_EQ(calls("model.embed=13"), 1);
  auto retry = options();
  retry.retry_failed = true;
  run_sweep(config(text), retry);
  EXPECT_EQ(calls("model.embed=13"), 2);
  EXPECT_EQ(calls("model.embed=16"), 1);
}

TEST_F(SweepRunner, KeepsItsResultsIfTheFigureCannotBeDrawn) {
  fs::create_directories(sweep() / "results.png" / "in the way");
  const auto result = run("grid: {model.embed: [16]}\n");
  EXPECT_TRUE(result.points[0].runs[0].stopped(StopReason::ReachedGoal));
  EXPECT_TRUE(fs::exists(sweep() / "results.csv"));
}

TEST_F(SweepRunner, ContinuesAfterAKillAndLeavesNoProcessBehind) {
  hold();
  const auto text = "workers: 2\ngrid: {model.embed: [16, 4, 8, 32]}\n";
  const auto c = config(text);
  const auto o = options();
  const pid_t child = ::fork();
  if (child == 0) {
    run_sweep(c, o);
    ::_exit(0);
  }
  const auto three_done = [&] { return fs::exists(sweep() / "runs/model.embed=32,seed=1"); };
  ASSERT_TRUE(comes_true([&] { return fs::exists(folder_ / "pid") && three_done(); }));
  ASSERT_TRUE(comes_true(
      [&] { return test::contains(read_file(sweep() / "results.csv"), "\n32,1,reached"); }));
  EXPECT_TRUE(test::contains(test::error_of([&] { run(text); }), "another sweep is at work"));
  const auto worker = static_cast<pid_t>(std::stoi(read_file(folder_ / "pid")));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_TRUE(comes_true([&] { return !lives(worker); }));
  EXPECT_TRUE(test::contains(read_file(sweep() / "results.md"), "1 to come"));

  let_go();
  write_file_atomically(sweep() / "runs/model.embed=8,seed=1/leftover", "");
  const auto half_written = sweep() / "results.csv.1.tmp";
  write_file_atomically(half_written, "");
  EXPECT_TRUE(is_complete(run(text), c));
  EXPECT_EQ(calls(""), 5);
  EXPECT_EQ(calls("model.embed=8"), 2);
  EXPECT_FALSE(fs::exists(sweep() / "runs/model.embed=8,seed=1/leftover"));
  EXPECT_FALSE(fs::exists(half_written));
}

TEST_F(SweepRunner, SpreadsRunsOverHostsAndLeavesOutOneThatCannotBeUsed) {
  write_file_atomically(folder_ / "ssh",
                        "#!/bin/sh\necho \"$1\" >> \"$0.hosts\"\n"
                        "[ \"$1\" = down ] && exit 255\nexec sh -c \"$2\"\n");
  fs::permissions(folder_ / "ssh", fs::perms::owner_all);
  auto spread = options();
  spread.hosts = {"a", "down", "b"};
  spread.ssh = folder_ / "ssh";
  const auto text = "seeds: [1, 2]\ngrid: {model.embed: [4, 8, 16]}\n";
  EXPECT_TRUE(is_complete(run_sweep(config(text), spread), config(text)));
  EXPECT_EQ(calls("launch --attached --ranks 1 train "), 6);
  const auto hosts = read_file(folder_ / "ssh.hosts");
  EXPECT_TRUE(test::contains(hosts, "a\n"));
  EXPECT_TRUE(test::contains(hosts, "b\n"));
  EXPECT_EQ(std::count(hosts.begin(), hosts.end(), '\n'), 7) << hosts;  // "down" was asked once
  spread.hosts = {"down"};
  const auto error =
      test::error_of([&] { run_sweep(config("grid: {model.embed: [4, 8, 16, 32]}\n"), spread); });
  EXPECT_TRUE(test::contains(error, "host down: it cannot be reached"));
}

TEST_F(SweepRunner, SavesRunsOnCtrlCAndResumesThem) {
  hold();
  const auto text = "grid: {model.embed: [16, 8, 4]}\n";
  std::thread user([&] {
    comes_true([&] { return fs::exists(folder_ / "pid"); });
    ::kill(::getpid(), SIGINT);
  });
  const auto result = run(text);
  user.join();
  EXPECT_FALSE(is_complete(result, config(text)));
  EXPECT_EQ(result.points[0].runs.size(), 1u);
  EXPECT_EQ(result.points[1].runs.size(), 0u);
  EXPECT_EQ(calls(""), 2);
  EXPECT_TRUE(test::contains(read_file(sweep() / "results.md"), "1 to come"));

  let_go();
  const auto complete = run(text);
  EXPECT_TRUE(is_complete(complete, config(text)));
  EXPECT_DOUBLE_EQ(complete.points[1].runs[0].outcome->test_value(), 0.91);
  EXPECT_EQ(
      calls("train --resume " + (sweep() / "runs/model.embed=8,seed=1").string() + " --threads 1"),
      1);
  EXPECT_EQ(calls(""), 4);
}

TEST_F(SweepRunner, SearchesTheLearningRateOfEachPoint) {
  const auto text =
      "seeds: [5, 6]\nset: {train.optimizer.lr: 9}\ngrid: {model.embed: [4, 16]}\n"
      "learning_rates: [1e-3, 3e-3]\nsearch_budget: 15\n";
  const auto result = run(text);
  EXPECT_EQ(result.points[0].point.value("train.optimizer.lr"), "3e-3");  // alone reached the goal
  EXPECT_EQ(result.points[1].point.value("train.optimizer.lr"), "1e-3");  // as good, and smaller
  EXPECT_EQ(calls("seed=5 train.budget_seconds=15 --run"), 4);
  EXPECT_EQ(calls("/runs/"), 4);
  EXPECT_EQ(calls("train.optimizer.lr=3e-3 model.embed=4 seed=6 --run"), 1);
  EXPECT_TRUE(
      test::contains(read_file(sweep() / "search.csv"), "\n1e-3,4,5,over_budget,,0.5,0.25,0.5,"));
  EXPECT_TRUE(
      test::contains(read_file(sweep() / "results.md"), "| model.embed | train.optimizer.lr"));
  EXPECT_TRUE(
      fs::exists(sweep() / "runs/model.embed=4,train.optimizer.lr=3e-3,seed=6/result.json"));
}

TEST_F(SweepRunner, CtrlCInTheSearchGivesPointsWithoutRuns) {
  hold();
  const auto text = "grid: {model.embed: [8]}\nlearning_rates: [1e-3]\n";
  std::thread user([&] {
    comes_true([&] { return fs::exists(folder_ / "pid"); });
    ::kill(::getpid(), SIGINT);
  });
  const auto result = run(text);
  user.join();
  ASSERT_EQ(result.points.size(), 1u);
  EXPECT_FALSE(is_complete(result, config(text)));
  EXPECT_TRUE(test::contains(read_file(sweep() / "results.md"), "1 to come"));
}

TEST_F(SweepRunner, RefusesToMixRunsOfDifferentMeaning) {
  run("grid: {model.embed: [16]}\n");
  const auto refused = [&](const std::string& more) {
    return test::error_of([&] { run("grid: {model.embed: [16]}\n" + more); });
  };
  EXPECT_TRUE(test::contains(refused("budget: 3\n"), "holds runs with another 'budget'"));
  EXPECT_TRUE(test::contains(refused("set: {model.layers: 3}\n"), "another 'set'"));
  EXPECT_EQ(run("seeds: [1, 2]\nworkers: 2\ngrid: {model.embed: [16, 32]}\n").points.size(), 2u);
  EXPECT_EQ(calls(""), 4);
  write_file_atomically(folder_ / "r.yaml", kRecipe + "seed: 2\n");
  EXPECT_TRUE(test::contains(refused(""), "another 'recipe'"));
}

TEST_F(SweepRunner, RefusesResultsThatCannotBeRead) {
  run("grid: {model.embed: [16]}\n");
  const auto file = sweep() / "runs/model.embed=16,seed=1/result.json";
  write_file_atomically(file, "{\"stop_reason\": \"maybe\"}");
  EXPECT_TRUE(test::contains(test::error_of([&] { run("grid: {model.embed: [16]}\n"); }),
                             file.string() + " is not the result of a run"));
}

TEST_F(SweepRunner, RefusesATypoBeforeAnyRunStarts) {
  const auto message_of = [&](const std::string& text) {
    const auto message = test::error_of([&] { run(text); });
    EXPECT_FALSE(fs::exists(sweep()));
    return message;
  };
  EXPECT_TRUE(test::contains(message_of("grid: {model.embd: [8, 16]}\n"),
                             "unknown key 'model.embd'; did you mean 'embed'?"));
  EXPECT_TRUE(test::contains(message_of("set: {train.epoch: 3}\ngrid: {model.embed: [8, 16]}\n"),
                             "did you mean 'epochs'?"));
  EXPECT_TRUE(test::contains(message_of("grid: {model.embed: [8, many]}\n"), "model.embed=many"));
  EXPECT_EQ(calls(""), 0);
}

TEST_F(SweepRunner, RefusesAProgramThatIsNone) {
  auto bad = options();
  bad.program = folder_ / "nothing";
  const auto c = config("grid: {a: [1]}\n");
  EXPECT_TRUE(test::contains(test::error_of([&] { run_sweep(c, bad); }), "is no program"));
}

}  // namespace vitrine
