// Real processes that train together end with the bits of one process that accumulates the same
// parts.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <thread>

#include "tests/support/errors.h"
#include "tests/support/program.h"
#include "tests/support/training.h"
#include "vitrine/train/distributed/batch_results.h"
#include "vitrine/train/metrics.h"

namespace vitrine {
namespace {

/// Plays ssh, called with HOST COMMAND. What it starts is no child of the launcher, gets no signal
/// of it and has its input through a pipe, as on another host.
constexpr auto kSsh = R"(#!/bin/sh
echo "$1" >> "$0.hosts"
if [ "$1" = nowhere ]; then echo "ssh: Could not resolve hostname $1" >&2; exit 255; fi
mkfifo "$0.$1"
exec 3<&0
setsid sh -c "$2" < "$0.$1" &
remote=$!
echo $remote >> "$0.processes"
cat <&3 > "$0.$1" &
wait $remote
code=$?
rm "$0.$1"
exit $code
)";
const std::string kHosts = "me@127.0.0.1,localhost";

class Launch : public testing::Test {
 protected:
  Launch() {
    write_file_atomically(folder_ / "small.yaml", test::small_recipe());
    write_file_atomically(folder_ / "ssh", kSsh);
    fs::permissions(folder_ / "ssh", fs::perms::owner_all);
  }

  fs::path log() const { return folder_ / "log.txt"; }
  fs::path run(const std::string& name) const { return folder_ / name; }

  /// `train` in `ranks` processes with one thread each; 0: without `launch`.
  std::vector<std::string> train(int ranks, std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), "train");
    if (ranks > 0) arguments.insert(arguments.begin(), {"launch", "-n", std::to_string(ranks)});
    arguments.insert(arguments.end(), {"--threads", "1"});
    return arguments;
  }
  std::vector<std::string> new_run(int ranks, const std::string& name,
                                   std::vector<std::string> more = {}) const {
    more.insert(more.begin(), folder_ / "small.yaml");
    more.insert(more.end(), {"--run", run(name)});
    return train(ranks, more);
  }
  std::vector<std::string> resume(int ranks, const std::string& name) const {
    return train(ranks, {"--resume", run(name)});
  }
  /// The same on hosts that a shell script plays, one rank on each.
  std::vector<std::string> on_hosts(const std::string& hosts, std::vector<std::string> line) const {
    line.erase(line.begin(), std::ranges::find(line, "train"));
    line.insert(line.begin(), {"launch", "--hosts", hosts, "--ssh", folder_ / "ssh"});
    return line;
  }
  void expect_success(const std::vector<std::string>& line) const {
    EXPECT_EQ(test::finish(test::start(line, log())), 0) << read_file(log());
  }
  void expect_same(const std::string& a, const std::string& b) const {
    for (const auto* file : {"checkpoints/last.safetensors", "checkpoints/best.safetensors"})
      EXPECT_TRUE(test::same_tensors(run(a) / file, run(b) / file)) << file;
    const auto left = read_metrics(run(a) / "metrics.jsonl"),
               right = read_metrics(run(b) / "metrics.jsonl");
    ASSERT_EQ(left.size(), right.size());
    for (size_t i = 0; i < left.size(); ++i) {
      EXPECT_EQ(left[i].kind, right[i].kind);
      EXPECT_EQ(left[i].step, right[i].step);
      EXPECT_EQ(left[i].values.at(0), right[i].values.at(0));  // a loss
    }
  }
  /// Whether each step of a run of several ranks tells how long its gradients took.
  bool times_its_exchange(const std::string& name) const {
    const auto lines = read_metrics(run(name) / "metrics.jsonl");
    return std::ranges::all_of(lines, [](const MetricsLine& line) {
      return line.kind != "step" || (line.value("exchange_seconds") > 0 &&
                                     line.value("exchange_waited_seconds") >= 0);
    });
  }

  static std::vector<pid_t> numbers_in(const fs::path& file) {
    std::ifstream numbers(file);
    return {std::istream_iterator<pid_t>(numbers), {}};
  }
  static std::vector<pid_t> children_of(pid_t process) {
    return numbers_in(fmt::format("/proc/{}/task/{}/children", process, process));
  }

  void wait_for_resume_state(const std::string& name) const {
    while (!fs::exists(run(name) / "checkpoints/resume.previous.safetensors"))
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  /// Waits until a run of 2 ranks has written a resume state: the processes of its ranks.
  std::vector<pid_t> ranks_at_work(pid_t launcher, const std::string& name) const {
    wait_for_resume_state(name);
    return children_of(launcher);
  }
  /// The same on hosts.
  std::vector<pid_t> ranks_on_hosts(const std::string& name) const {
    wait_for_resume_state(name);
    std::vector<pid_t> ranks;
    for (const auto host : numbers_in(folder_ / "ssh.processes"))
      for (const auto rank : children_of(host)) ranks.push_back(rank);
    return ranks;
  }
  /// Waits for their end. Whoever started a process on a host has not always waited for it.
  static bool all_end(const std::vector<pid_t>& processes) {
    const auto lives = [](pid_t process) {
      std::ifstream stat(fmt::format("/proc/{}/stat", process));
      std::string line;
      return std::getline(stat, line) && line.find(") Z ") == std::string::npos;
    };
    for (int i = 0; i < 3000 && std::ranges::any_of(processes, lives); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return std::ranges::none_of(processes, lives);
  }

  /// Starts a run of 2 ranks and interrupts it; another, if it had ended before.
  void interrupt(const std::string& name, const std::vector<std::string>& line) const {
    for (int code = 0; code == 0;) {
      fs::remove_all(run(name));
      const auto launcher = test::start(line, log());
      wait_for_resume_state(name);
      ::kill(launcher, SIGINT);
      code = test::finish(launcher);
    }
  }

  test::TemporaryFolder folder_;
};

const std::vector<std::string> kTwoParts = {"data.batch=8", "train.accumulate=2"};
const std::vector<std::string> kEndless = {"train.checkpoint_steps=3", "train.epochs=100000"};

}  // namespace

TEST_F(Launch, TwoRanksEndWithTheBitsOfOneProcess) {
  expect_success(new_run(0, "one", kTwoParts));
  expect_success(new_run(2, "two"));
  expect_same("one", "two");
  EXPECT_TRUE(times_its_exchange("two"));
  expect_success(new_run(2, "dealt", {"data.batch=8", "train.accumulate=2"}));
  expect_same("one", "dealt");
}

TEST_F(Launch, MoreRanksThanBatchesOfAnEpochAndAnOddRestDoTheSame) {
  // 288 images in batches of 20: the last step of an epoch has no batch for the third rank
  expect_success(
      new_run(0, "one", {"data.batch=20", "train.accumulate=3", "train.recompute=true"}));
  expect_success(new_run(3, "three", {"data.batch=60", "train.recompute=true"}));
  expect_same("one", "three");
}

TEST_F(Launch, MatricesThatMuonDealsOutGetTheSameBits) {
  const std::string muon = "train.optimizer.kind=muon";
  expect_success(new_run(0, "one", {"data.batch=8", "train.accumulate=2", muon}));
  expect_success(new_run(2, "two", {muon}));
  expect_same("one", "two");
  expect_success(new_run(0, "thirds", {"data.batch=16", "train.accumulate=3", muon}));
  expect_success(new_run(3, "three", {"data.batch=48", muon}));
  expect_same("thirds", "three");
}

TEST_F(Launch, ARankThatDiesEndsTheOthersAndIsNamed) {
  const auto launcher = test::start(new_run(2, "two", kEndless), log());
  const auto ranks = ranks_at_work(launcher, "two");
  ASSERT_EQ(ranks.size(), 2);
  ::kill(ranks[1], SIGKILL);
  EXPECT_EQ(test::finish(launcher), 1);
  const auto text = read_file(log());
  EXPECT_TRUE(test::contains(text, "rank 1 ended with signal 9")) << text;
  EXPECT_TRUE(test::contains(text, "rank 0 of 2 lost the others")) << text;
}

TEST_F(Launch, ARankThatHangsEndsTheOthersAndIsNamed) {
  const auto launcher = test::start(new_run(2, "two", kEndless), log());
  const auto ranks = ranks_at_work(launcher, "two");
  ASSERT_EQ(ranks.size(), 2);
  ::kill(ranks[1], SIGSTOP);
  EXPECT_EQ(test::finish(launcher), 1);
  const auto text = read_file(log());
  EXPECT_TRUE(test::contains(text, "rank 0 of 2 gives up: rank 1 has not answered")) << text;
}

TEST_F(Launch, CtrlCSavesAndAnotherNumberOfRanksContinues) {
  const std::vector<std::string> often = {"train.checkpoint_steps=3", "data.batch=8",
                                          "train.accumulate=2"};
  expect_success(new_run(0, "one", often));
  for (const int then : {0, 2}) {
    const auto name = fmt::format("stopped-{}", then);
    interrupt(name, new_run(2, name, often));
    EXPECT_TRUE(test::contains(read_file(log()), "resume with")) << read_file(log());
    expect_success(resume(then, name));
    expect_same("one", name);
  }
}

TEST_F(Launch, RanksOnHostsEndWithTheBitsOfOneProcess) {
  expect_success(new_run(0, "one", kTwoParts));
  expect_success(on_hosts(kHosts, new_run(2, "two", {"train.checkpoint_steps=3"})));
  expect_same("one", "two");
  for (const auto* host : {"me@127.0.0.1\n", "localhost\n"})
    EXPECT_TRUE(test::contains(read_file(folder_ / "ssh.hosts"), host));
  EXPECT_TRUE(test::contains(read_file(log()), run("two").string()));  // rank 0 prints through ssh
  interrupt("stopped", on_hosts(kHosts, new_run(2, "stopped", {"train.checkpoint_steps=3"})));
  EXPECT_TRUE(test::contains(read_file(log()), "resume with")) << read_file(log());
  expect_success(on_hosts(kHosts, resume(2, "stopped")));
  expect_same("one", "stopped");
}

TEST_F(Launch, NoRankOnAHostOutlivesTheLauncher) {
  const auto launcher = test::start(on_hosts(kHosts, new_run(2, "two", kEndless)), log());
  const auto ranks = ranks_on_hosts("two");
  ASSERT_EQ(ranks.size(), 2);
  ::kill(launcher, SIGKILL);
  test::finish(launcher);
  EXPECT_TRUE(all_end(ranks));
}

TEST_F(Launch, ARankThatDiesOnAHostEndsThoseOfAllHosts) {
  const auto launcher = test::start(on_hosts(kHosts, new_run(2, "two", kEndless)), log());
  const auto ranks = ranks_on_hosts("two");
  ASSERT_EQ(ranks.size(), 2);
  ::kill(ranks[1], SIGKILL);
  EXPECT_EQ(test::finish(launcher), 1);
  EXPECT_TRUE(all_end(ranks));
  const auto text = read_file(log());
  EXPECT_TRUE(test::contains(text, "ended with signal 9")) << text;
  EXPECT_TRUE(test::contains(text, " ended with exit code 1")) << text;
}

TEST_F(Launch, NamesAHostThatCannotBeReachedAndWhatToDo) {
  EXPECT_EQ(test::finish(test::start(on_hosts("127.0.0.1,nowhere", new_run(2, "two")), log())), 1);
  const auto text = read_file(log());
  EXPECT_TRUE(test::contains(text, "host nowhere ended with exit code 255")) << text;
  EXPECT_TRUE(test::contains(text, "nowhere true' works without a password")) << text;
  EXPECT_FALSE(fs::exists(run("two")));
}

TEST_F(Launch, RefusesHostsThatAreNone) {
  const std::pair<std::vector<std::string>, std::string> cases[] = {
      {{"--hosts=a,,b"}, "'' in 'a,,b' is no host"},
      {{"--hosts=a,b,a"}, "'a' comes twice"},
      {{"--hosts=-oProxyCommand=x,b"}, "'-oProxyCommand=x' in"},
      {{"--hosts", "", "-n", "1"}, "no host is named"},
      {{"--hosts=a", "--ssh=/no/ssh"}, "no program '/no/ssh'"}};
  for (const auto& [options, message] : cases) {
    std::vector<std::string> line = {"launch"};
    line.insert(line.end(), options.begin(), options.end());
    line.insert(line.end(), {"train", "recipe.yaml"});
    EXPECT_EQ(test::finish(test::start(line, log())), 2) << message;
    EXPECT_TRUE(test::contains(read_file(log()), message));
  }
}

TEST_F(Launch, RefusesWhatCannotBeShared) {
  EXPECT_EQ(test::finish(test::start(new_run(3, "three"), log())), 1);
  EXPECT_TRUE(test::contains(read_file(log()), "data.batch 16 cannot be split among 3 ranks"));
  EXPECT_FALSE(fs::exists(run("three")));
  EXPECT_EQ(test::finish(test::start({"launch", "-n", "2", "eval", "x"}, log())), 2);
  EXPECT_TRUE(test::contains(read_file(log()), "expected 'train'"));
}

TEST(WorkerPlace, ComesFromTheVariablesOfLaunchers) {
  const auto with = [](const std::vector<std::pair<const char*, const char*>>& variables) {
    for (const auto& [name, value] : variables) ::setenv(name, value, /*overwrite=*/1);
    std::optional<WorkerPlace> place;
    std::string error;
    try {
      place = place_from_environment();
    } catch (const Error& e) {
      error = e.what();
    }
    for (const auto& [name, value] : variables) ::unsetenv(name);
    return std::pair(place, error);
  };
  EXPECT_FALSE(with({}).first);
  EXPECT_FALSE(with({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}}).first);
  EXPECT_FALSE(with({{"MASTER_ADDR", "a"}, {"RANK", "0"}, {"WORLD_SIZE", "1"}}).first);
  const auto slurm =
      with({{"MASTER_ADDR", "node1"}, {"SLURM_PROCID", "3"}, {"SLURM_NTASKS", "4"}}).first;
  ASSERT_TRUE(slurm);
  EXPECT_EQ(slurm->rank, 3);
  EXPECT_EQ(slurm->size, 4);
  EXPECT_EQ(slurm->address, "node1");
  EXPECT_EQ(slurm->port, 29500);
  EXPECT_TRUE(test::contains(
      with({{"MASTER_ADDR", "a"}, {"RANK", "2"}, {"WORLD_SIZE", "2"}}).second, "RANK 2"));
  EXPECT_TRUE(test::contains(
      with({{"MASTER_ADDR", "a"}, {"RANK", "x"}, {"WORLD_SIZE", "2"}}).second, "'x'"));
}

TEST(WorkerGroup, OfOneProcessGivesBackWhatItGets) {
  const WorkerGroup alone;
  EXPECT_EQ(alone.gather({1, 2}), (std::vector<std::vector<double>>{{1, 2}}));
  EXPECT_EQ(alone.from_leader("text"), "text");
  EXPECT_TRUE(alone.any(true));
  const auto all = gather_results(alone, {{.step = 4, .loss = 0.5, .targets = 2}}, false, {7});
  EXPECT_EQ(all.batches.at(0).step, 4);
  EXPECT_EQ(all.leader.at(0), 7);
}

}  // namespace vitrine
