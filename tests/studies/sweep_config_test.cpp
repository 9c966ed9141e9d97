#include "vitrine/studies/sweep_config.h"

#include <gtest/gtest.h>

#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"

namespace vitrine {
namespace {

constexpr auto kSmall = R"(name: small
recipe: r.yaml
grid:
  model.embed: [4, 8]
)";

std::string error_in(const std::string& text) {
  return test::error_of([&] { parse_sweep(text, "s.yaml"); });
}

std::string error_with(const std::string& more) { return error_in(kSmall + more); }

}  // namespace

TEST(SweepConfig, ReadsEveryKey) {
  const auto c = parse_sweep(R"(
name: addition-cnn
recipe: ../addition-cnn.yaml
seeds: [1, 2, 3]
budget: 60
workers: 2
threads: 3
set:
  model.embed: 32
  train.optimizer.betas: [0.9, 0.95]
one_at_a_time:
  model.embed: [4, 8, 16]
  model.layers: [1, 2]
grid: {model.channels: [2, 4]}
list: {model.name: [a, b]}
learning_rates: [1e-3, 3e-3]
search_budget: 15
)",
                             "s.yaml");
  EXPECT_EQ(c.name, "addition-cnn");
  EXPECT_EQ(c.recipe, "../addition-cnn.yaml");
  EXPECT_EQ(c.seeds, (std::vector<int64_t>{1, 2, 3}));
  EXPECT_EQ(c.budget, 60);
  EXPECT_EQ(c.workers, 2);
  EXPECT_EQ(c.threads, 3);
  EXPECT_EQ(c.set, (std::vector<Setting>{{"model.embed", "32"},
                                         {"train.optimizer.betas", "[0.9, 0.95]"}}));
  ASSERT_EQ(c.one_at_a_time.size(), 2u);
  EXPECT_EQ(c.one_at_a_time[1].key, "model.layers");
  EXPECT_EQ(c.one_at_a_time[0].values, (std::vector<std::string>{"4", "8", "16"}));
  EXPECT_EQ(c.grid.size(), 1u);
  EXPECT_EQ(c.list.size(), 1u);
  EXPECT_EQ(c.learning_rates, (std::vector<std::string>{"1e-3", "3e-3"}));
  EXPECT_EQ(c.search_budget, 15);
}

TEST(SweepConfig, TakesTheRecipeRelativeToTheFile) {
  const test::TemporaryFolder folder;
  make_folder(folder / "sweeps");
  write_file_atomically(folder / "r.yaml", "name: x\n");
  write_file_atomically(folder / "sweeps" / "s.yaml",
                        "name: s\nrecipe: ../r.yaml\ngrid: {seedless: [1]}\n");
  EXPECT_EQ(read_sweep(folder / "sweeps" / "s.yaml").recipe, folder / "r.yaml");

  fs::remove(folder / "r.yaml");
  const auto error = test::error_of([&] { read_sweep(folder / "sweeps" / "s.yaml"); });
  EXPECT_TRUE(test::contains(error, "there is no recipe " + (folder / "r.yaml").string()));
}

TEST(SweepConfig, NamesUnknownKeysWithTheirLineAndTheNearestName) {
  EXPECT_TRUE(test::contains(error_with("worker: 2\n"),
                             "s.yaml:5: unknown key 'worker'; did you mean 'workers'?"));
}

TEST(SweepConfig, RefusesBadAxes) {
  EXPECT_TRUE(test::contains(error_in("name: s\nrecipe: r.yaml\n"), "the sweep varies nothing"));
  EXPECT_TRUE(test::contains(error_in("name: s\nrecipe: r.yaml\ngrid: {}\n"), "varies nothing"));
  EXPECT_TRUE(test::contains(error_with("one_at_a_time:\n  model.layers: []\n"),
                             "s.yaml:6: model.layers has no values"));
  EXPECT_TRUE(test::contains(error_with("one_at_a_time: {model.layers: 3}\n"),
                             "model.layers is '3', expected a list of values"));
  EXPECT_TRUE(test::contains(error_with("one_at_a_time: {model.layers: [3, 3]}\n"),
                             "model.layers has 3 twice"));
  EXPECT_TRUE(test::contains(error_with("list:\n  a: [1, 2]\n  b: [1, 2, 3]\n"),
                             "s.yaml:7: list: b has 3 values, but a has 2"));
  EXPECT_TRUE(test::contains(error_with("list: {a: [1], a: [2]}\n"), "a is given twice"));
  EXPECT_TRUE(test::contains(error_with("list: {--out: [1]}\n"), "'--out' is no key of a recipe"));
}

TEST(SweepConfig, RefusesBadNumbersAndNames) {
  EXPECT_TRUE(test::contains(error_with("workers: 0\n"), "s.yaml:5: workers 0 is not positive"));
  EXPECT_TRUE(
      test::contains(error_with("workers: two\n"), "workers is 'two', expected a whole number"));
  EXPECT_TRUE(test::contains(error_with("seeds: []\n"), "s.yaml:5: seeds has no values"));
  EXPECT_TRUE(test::contains(error_with("seeds: [1, 2, 1]\n"), "seeds 1, 2, 1 has one twice"));
  EXPECT_TRUE(test::contains(error_with("budget: -1\n"), "budget -1 is negative"));
  EXPECT_TRUE(test::contains(error_with("learning_rates: [0]\n"), "not positive"));
  EXPECT_TRUE(test::contains(error_in("name: a/b\nrecipe: r\ngrid: {a: [1]}\n"),
                             "name 'a/b' cannot name a folder"));
  EXPECT_TRUE(test::contains(error_in("recipe: r\ngrid: {a: [1]}\n"), "has no name"));
  EXPECT_TRUE(test::contains(error_in("name: s\ngrid: {a: [1]}\n"), "names no recipe"));
  EXPECT_TRUE(test::contains(error_in("name: [\n"), "not valid YAML"));
}

TEST(SweepConfig, RefusesSettingsThatItMakesItself) {
  EXPECT_TRUE(test::contains(error_with("set: {seed: 3}\n"), "give seeds with 'seeds'"));
  EXPECT_TRUE(test::contains(error_with("set: {train.budget_seconds: 3}\n"), "with 'budget'"));
  EXPECT_TRUE(test::contains(
      error_with("list: {train.optimizer.lr: [1]}\nlearning_rates: [1e-3]\n"), "leave one"));
  EXPECT_TRUE(test::contains(error_with("set: {model: {embed: 3}}\n"), "write keys with dots"));
}

TEST(SweepConfig, KnowsWhatChangesTheMeaningOfRuns) {
  const auto before = parse_sweep(kSmall, "s.yaml");
  const auto changed = [&](const std::string& more) {
    return changed_meaning(before, parse_sweep(kSmall + more, "s.yaml"));
  };
  EXPECT_EQ(changed("workers: 4\nseeds: [1, 2, 3]\none_at_a_time: {a: [1]}  # more\n"), "");
  EXPECT_EQ(changed("budget: 5\n"), "budget");
  EXPECT_EQ(changed("set: {a: 1}\n"), "set");
}

TEST(SweepConfig, HasASmokeSize) {
  const auto c = smoke_sweep_config(
      parse_sweep(std::string(kSmall) + "list: {a: [1, 2, 3]}\nseeds: [7, 8]\n", "s.yaml"));
  EXPECT_EQ(c.name, "small-smoke");
  EXPECT_EQ(c.seeds, (std::vector<int64_t>{7}));
  EXPECT_EQ(c.list[0].values.size(), 2u);
  EXPECT_EQ(c.budget, 2);
}

}  // namespace vitrine
