// What a user reads when a command line is not quite right, and the exit code that goes with it.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/support/command.h"
#include "tests/support/errors.h"
#include "tests/support/small_checkpoint.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/training.h"

namespace vitrine {
namespace {

using Arguments = std::vector<std::string>;

/// The talk of a command line that is misuse.
std::string misuse(const Arguments& arguments) {
  const auto outcome = test::run_command(arguments);
  EXPECT_EQ(outcome.code, 2) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  return outcome.err;
}

/// A device on which nothing can be written.
class FullDevice : public std::streambuf {
 protected:
  int overflow(int) override { return traits_type::eof(); }
  int sync() override { return -1; }
};

class Messages : public testing::Test {
 protected:
  Messages() { write_file_atomically(recipe_, test::small_recipe()); }

  test::TemporaryFolder folder_;
  std::string recipe_ = (folder_ / "r.yaml").string(), out_ = (folder_ / "runs").string();
};

}  // namespace

TEST_F(Messages, MisuseOfTheCommandLineOrOfARecipeIsExitCodeTwo) {
  for (const Arguments& arguments : {Arguments{"train", recipe_, "train.epohcs=3"},
                                     {"train", recipe_, "train.epochs=many"},
                                     {"train", recipe_, "train.epochs=0"},
                                     {"train", recipe_, "train.clip=.inf"},
                                     {"train", recipe_, "data.augment.mixup=.inf"},
                                     {"train", recipe_, "model=vit_b61"},
                                     {"train", recipe_, "model.heads=7"},
                                     {"train", recipe_, "train.accumulate=-1"},
                                     {"train", recipe_, "train.epochs=9223372036854775807"},
                                     {"train", recipe_, "train.accumulate=9223372036854775807"},
                                     {"train", recipe_, "--device", "tpu"},
                                     {"data", "info", "synthetic", "validation=2"},
                                     {"data", "show", "synthetic", "--split", "dev"},
                                     {"data", "show", "synthetic", "-n", "0"},
                                     {"models", "--no-such-option"},
                                     {"summary", "vit_b61"},
                                     {"study", "subtraction"}}) {
    auto line = arguments;
    if (line.front() == "train") line.insert(line.end(), {"--out", out_});
    misuse(line);
    EXPECT_FALSE(fs::exists(out_)) << line[2];
  }
  write_file_atomically(folder_ / "twice.yaml", "model: vit_b16\nmodel: vit_b32\n");
  misuse({"train", folder_ / "twice.yaml"});
}

TEST_F(Messages, WhatFailsLaterIsExitCodeOne) {
  for (const Arguments& arguments : {Arguments{"train", folder_ / "none.yaml"},
                                     {"train", "--resume", folder_ / "none"},
                                     {"train", recipe_, "model.classes=7", "--out", out_},
                                     {"eval", folder_ / "none"},
                                     {"sweep", folder_ / "none.yaml"},
                                     {"predict", "-m", folder_ / "none", "x.png"}}) {
    const auto outcome = test::run_command(arguments);
    EXPECT_EQ(outcome.code, 1) << arguments[0] << " " << arguments[1] << ": " << outcome.err;
  }
}

TEST_F(Messages, AStoredModelWithAnUnknownKeyIsNotTheUsersMisuse) {
  const auto path = (folder_ / "m.safetensors").string();
  save_safetensors(path, {.tensors = {}, .metadata = {{"model", "{name: vit_ti16, detph: 3}"}}});
  EXPECT_EQ(test::run_command({"eval", path}).code, 1);
}

TEST_F(Messages, AMistypedCommandGetsTheNearest) {
  EXPECT_TRUE(test::contains(misuse({"trian"}),
                             "'trian' is not a command of vitrine; did you mean 'train'?"));
  EXPECT_TRUE(test::contains(misuse({"data", "shwo", "synthetic"}),
                             "'shwo' is not a command of vitrine data; did you mean 'show'?"));
}

TEST_F(Messages, WithoutACommandThereIsHelp) {
  const auto all = misuse({});
  for (const auto& command : cli::commands()) EXPECT_TRUE(test::contains(all, command.summary));
  EXPECT_TRUE(test::contains(misuse({"bench"}), "forward on random data"));
}

TEST_F(Messages, TrainWithoutARecipeGivesAnExampleAndTheRecipes) {
  const auto before = fs::current_path();
  fs::current_path(VITRINE_SOURCE_DIR);
  const auto message = misuse({"train"});
  fs::current_path(before);
  for (const auto* part : {"no recipe is given", "--resume", "\n  vitrine train recipes/",
                           "\n  recipes/cct2-cifar10.yaml", "train.epochs=3"})
    EXPECT_TRUE(test::contains(message, part));
}

TEST_F(Messages, NumbersOutOfRangeAreRefusedWithTheRange) {
  for (const auto& [arguments, part] : std::vector<std::pair<Arguments, std::string>>{
           {{"bench", "infer", "--batch", "-1"}, "--batch: -1 is out of range (1 or more)"},
           {{"bench", "infer", "--threads", "-4"}, "--threads: -4 is out of range (0 to 1024)"},
           {{"bench", "train", "--seconds", "-1"}, "--seconds: -1 is out of range (0 to 86400)"},
           {{"bench", "train", "--seconds", "nan"}, "--seconds: nan is out of range"},
           {{"train", "r.yaml", "--threads", "-4"}, "--threads: -4 is out of range (0 to 1024)"},
           {{"sweep", "s.yaml", "--workers", "-1"}, "--workers: -1 is out of range (0 or more)"}})
    EXPECT_TRUE(test::contains(misuse(arguments), part));
}

TEST_F(Messages, AnUnknownPatternGetsTheNearestName) {
  const auto message = misuse({"inspect", "pattern", "--kind", "stride"});
  EXPECT_TRUE(test::contains(
      message, "--kind: 'stride' is not known; did you mean 'strided'? (known: dense, local, "));
  EXPECT_EQ(message.find("->"), std::string::npos);
  const auto out = (folder_ / "p.svg").string();
  EXPECT_EQ(test::run_command({"inspect", "pattern", "--kind", "fixed", "--factor", "first", "-n",
                               "64", "--stride", "8", "-o", out})
                .code,
            0);
}

TEST_F(Messages, AKeyWithTheWrongPrefixGetsTheRightOne) {
  EXPECT_TRUE(test::contains(misuse({"train", recipe_, "validation=0.2"}),
                             "unknown key 'validation'; did you mean 'data.validation'?"));
  EXPECT_TRUE(test::contains(misuse({"train", recipe_, "train.lr=0.2"}),
                             "unknown key 'train.lr'; did you mean 'train.optimizer.lr'?"));
  EXPECT_TRUE(test::contains(misuse({"summary", recipe_, "image=32"}), "'model.image'"));
  EXPECT_TRUE(test::contains(misuse({"summary", "vit_b16", "model.image=384"}),
                             "unknown key 'model'; did you mean 'image'?"));
  EXPECT_TRUE(test::contains(misuse({"bench", "infer", "model.depth=2"}), "did you mean 'depth'?"));
  const auto path = (folder_ / "m.safetensors").string();
  test::save_small_checkpoint(path, "vit_ti16", test::kSmallVit);
  EXPECT_TRUE(test::contains(misuse({"eval", path, "batch=4"}), "did you mean 'data.batch'?"));
}

TEST_F(Messages, AGreyDataSetHasOneChannel) {
  EXPECT_TRUE(test::contains(misuse({"train", recipe_, "data.dataset=fashion_mnist",
                                     "data.preprocess.mean=[1, 2]", "data.preprocess.std=[1, 2]"}),
                             "have 2 values each, but fashion_mnist has 1 channel\n"));
}

TEST_F(Messages, ResultsThatCannotBeWrittenAreAFailure) {
  FullDevice device;
  for (const Arguments& arguments : {Arguments{"data", "list"}, {"models"}, {"--help"}}) {
    std::ostream out(&device);
    std::ostringstream err;
    EXPECT_EQ(cli::run(arguments, {out, err}), 1);
    EXPECT_TRUE(test::contains(err.str(), "the results could not be written"));
  }
}

TEST_F(Messages, EvalOfSomeExamplesSaysThatItIsAnEstimate) {
  const auto path = (folder_ / "m.safetensors").string();
  test::save_small_checkpoint(path, "vit_ti16", test::kSmallVit);
  const auto some = test::run_command({"eval", path, "--limit", "10"});
  ASSERT_EQ(some.code, 0) << some.err;
  EXPECT_TRUE(test::contains(
      some.out, " on 10 of 24 test examples of synthetic; an estimate from 10 chosen at random\n"));
  const auto json =
      nlohmann::json::parse(test::run_command({"eval", path, "--limit", "10", "--json"}).out);
  EXPECT_EQ(json["examples"], 10);
  EXPECT_EQ(json["examples_of_split"], 24);
  const auto all = test::run_command({"eval", path, "--limit", "24"});
  EXPECT_EQ(all.out, test::run_command({"eval", path}).out);
  EXPECT_FALSE(test::contains(all.out, "estimate"));
}

}  // namespace vitrine
