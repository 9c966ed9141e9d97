// Man pages and completion: what the program says of itself, read by the programs that use it.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/command.h"
#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"
#include "vitrine/cli/commands.h"
#include "vitrine/cli/reference/command_reference.h"
#include "vitrine/core/files.h"
#include "vitrine/data/process.h"

namespace vitrine {
namespace {

std::string output_of(const std::vector<std::string>& arguments) {
  const auto outcome = test::run_command(arguments);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  return outcome.out;
}

bool is_installed(const std::string& program) {
  return run_process({"sh", "-c", "command -v " + program}, ".").status == 0;
}

/// Every command, with its words, and what it says of itself.
std::vector<cli::CommandReference> all_commands() {
  CLI::App app("", "vitrine");
  for (const auto& command : cli::commands())
    command.bind(*app.add_subcommand(command.name, command.summary));
  std::vector<cli::CommandReference> all = {cli::reference_of(app)};
  for (size_t i = 0; i < all.size(); ++i) {
    const auto below = all[i].commands;
    all.insert(all.end(), below.begin(), below.end());
  }
  return all;
}

/// A folder with the script of a shell and a few files.
class Completion : public testing::Test {
 protected:
  void write_script(const std::string& shell) {
    write_file_atomically(folder_ / "script", output_of({"completion", shell}));
    write_file_atomically(folder_ / "recipe.yaml", "");
    fs::create_directories(folder_ / "runs");
  }

  /// What `program` prints for `code`, which finds the script as "./script".
  std::string run(const std::string& program, const std::string& code) {
    const auto result = run_process({program, "-c", code}, folder_.path());
    EXPECT_EQ(result.status, 0) << result.output;
    return result.output;
  }

  test::TemporaryFolder folder_;
};

/// The words that bash offers for the last word of a command line, one per line.
class BashCompletion : public Completion {
 protected:
  BashCompletion() { write_script("bash"); }

  std::string offered(const std::string& words) {
    return run("bash", "source ./script; COMP_WORDS=(" + words +
                           "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _vitrine; "
                           "printf '%s\\n' \"${COMPREPLY[@]}\"");
  }
};

}  // namespace

TEST(Version, BeginsWithALineForScriptsAndNamesWhatComputes) {
  const auto text = output_of({"--version"});
  const auto first = text.substr(0, text.find('\n'));
  EXPECT_TRUE(first.starts_with("vitrine ")) << text;
  EXPECT_EQ(std::count(first.begin(), first.end(), ' '), 1);
  EXPECT_EQ(std::count(first.begin(), first.end(), '.'), 2);
  for (const auto* part :
       {"\ntorch 1.", "\nOpenBLAS 0.", "OpenMP), kernels ", "\noneDNN ", "\ninstructions "})
    EXPECT_TRUE(test::contains(text, part));
}

TEST(Reference, ReadsCommandsOptionsAndTheirValues) {
  const auto all = all_commands();
  const auto named = [&](const std::string& name) {
    return *std::find_if(all.begin(), all.end(), [&](const auto& c) { return c.name == name; });
  };
  const auto show = named("vitrine data show");
  EXPECT_EQ(show.arguments[0].names, (std::vector<std::string>{"name"}));
  EXPECT_TRUE(show.arguments[0].required);
  EXPECT_EQ(show.arguments[0].value.words[0], "cifar10");
  const auto option = [](const cli::CommandReference& command, const std::string& name) {
    for (const auto& o : command.options)
      if (std::find(o.names.begin(), o.names.end(), name) != o.names.end()) return o;
    ADD_FAILURE() << command.name << " has no " << name;
    return cli::OptionReference{};
  };
  EXPECT_EQ(option(show, "--split").value.words,
            (std::vector<std::string>{"train", "validation", "test"}));
  EXPECT_EQ(option(show, "--split").default_value, "train");
  EXPECT_EQ(option(show, "-o").names, (std::vector<std::string>{"-o", "--out"}));
  EXPECT_TRUE(option(show, "-o").value.files);
  EXPECT_TRUE(option(show, "--root").value.folders);
  EXPECT_TRUE(option(show, "--json").value.type.empty());
}

TEST(Reference, EveryCommandAndOptionIsInEveryScriptAndOnAPage) {
  test::TemporaryFolder folder;
  output_of({"man", "--out", folder.path()});
  std::string pages;
  for (const auto& entry : fs::directory_iterator(folder.path())) pages += read_file(entry.path());
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), {}),
            std::ssize(cli::commands()) + 1);
  const auto bash = output_of({"completion", "bash"}), zsh = output_of({"completion", "zsh"}),
             fish = output_of({"completion", "fish"});
  for (const auto& command : all_commands()) {
    EXPECT_TRUE(test::contains(bash, "'" + command.name + "')"));
    EXPECT_TRUE(test::contains(zsh, "_" + cli::replaced(command.name, " ", "_") + "() {"));
    EXPECT_TRUE(test::contains(fish, "'" + command.name + "'"));
    EXPECT_TRUE(test::contains(pages, cli::replaced(command.summary, "-", "\\-")));
    for (const auto& option : command.options) {
      const auto& name = option.names.back();
      EXPECT_TRUE(test::contains(bash, " " + name + " ") || test::contains(bash, name + "'"));
      EXPECT_TRUE(test::contains(zsh, name));
      EXPECT_TRUE(test::contains(fish, " -l " + name.substr(2) + " "));
      EXPECT_TRUE(test::contains(pages, "\\fB" + cli::replaced(name, "-", "\\-") + "\\fR"));
    }
  }
}

TEST(ManPages, AreRenderedWithoutWarnings) {
  if (!is_installed("man") || !is_installed("groff")) GTEST_SKIP() << "no man and groff";
  test::TemporaryFolder folder;
  output_of({"man", "--out", folder.path()});
  for (const auto& entry : fs::directory_iterator(folder.path())) {
    const auto result = run_process(
        {"sh", "-c",
         "MANWIDTH=80 man --warnings -l '" + entry.path().string() + "' 2>&1 >/dev/null"},
        folder.path());
    EXPECT_EQ(result.output, "") << entry.path();
  }
  const auto text =
      run_process({"sh", "-c", "MANWIDTH=80 man -l vitrine-eval.1 | col -b"}, folder.path()).output;
  for (const auto* part : {"vitrine eval [OPTION]... model [overrides]...",
                           "--split train|validation|test", "split of the data (default: test)"})
    EXPECT_TRUE(test::contains(text, part));
}

TEST(ManPages, OfUnknownCommandsAreRefusedWithTheNearest) {
  const auto outcome = test::run_command({"man", "trian"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_TRUE(test::contains(outcome.err, "did you mean 'train'?"));
  EXPECT_TRUE(test::contains(output_of({"man", "data"}), ".SH \"vitrine data fetch\""));
}

TEST_F(Completion, OfAnUnknownShellIsRefused) {
  const auto outcome = test::run_command({"completion", "tcsh"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_TRUE(test::contains(outcome.err, "known: bash, zsh, fish"));
  EXPECT_EQ(test::run_command({"completion"}).code, 2);
}

TEST_F(BashCompletion, OffersCommandsAndThoseBelowThem) {
  EXPECT_EQ(offered("vitrine da"), "data\n");
  EXPECT_EQ(offered("vitrine data fe"), "fetch\n");
  EXPECT_EQ(offered("vitrine weights ''"), "list\ninfo\nfetch\n");
  EXPECT_EQ(offered("vitrine eval da"), "\n");
}

TEST_F(BashCompletion, OffersOptionsOfTheCommand) {
  EXPECT_EQ(offered("vitrine eval --sp"), "--split\n");
  EXPECT_EQ(offered("vitrine --ver"), "--version\n");
  EXPECT_EQ(offered("vitrine data show cifar10 --cou"), "--count\n");
}

TEST_F(BashCompletion, OffersTheValuesOfAnOption) {
  EXPECT_EQ(offered("vitrine eval --split t"), "train\ntest\n");
  EXPECT_EQ(offered("vitrine eval --split = va"), "validation\n");
  EXPECT_EQ(offered("vitrine bench infer --model vit_ti1"), "vit_ti16\n");
  EXPECT_EQ(offered("vitrine eval --limit ''"), "\n");
}

TEST_F(BashCompletion, OffersModelsDataSetsAndFilesForArguments) {
  EXPECT_EQ(offered("vitrine summary vit_ti1"), "vit_ti16\n");
  EXPECT_EQ(offered("vitrine data info fas"), "fashion_mnist\n");
  EXPECT_EQ(offered("vitrine man tr"), "train\n");
  EXPECT_EQ(offered("vitrine train rec"), "recipe.yaml\n");
  EXPECT_EQ(offered("vitrine train --resume r"), "runs\n");  // a folder, and no file
  EXPECT_EQ(offered("vitrine train recipe.yaml data.root = ru"), "runs\n");
}

TEST_F(Completion, IsAScriptThatZshParses) {
  if (!is_installed("zsh")) GTEST_SKIP() << "no zsh";
  write_script("zsh");
  EXPECT_EQ(run("zsh", "zsh -n script"), "");
  EXPECT_EQ(run("zsh",
                "autoload -U compinit; compinit -D -u; source ./script; "
                "print $_comps[vitrine] $+functions[_vitrine_data_show]"),
            "_vitrine 1\n");
}

TEST_F(Completion, IsAScriptThatFishCompletesWith) {
  if (!is_installed("fish")) GTEST_SKIP() << "no fish";
  write_script("fish");
  const auto offered = [&](const std::string& line) {
    return run("fish",
               "source ./script; complete -C '" + line + "' | string replace -r '\\t.*' ''; true");
  };
  EXPECT_EQ(run("fish", "fish -n script"), "");
  EXPECT_EQ(offered("vitrine da"), "data\n");
  EXPECT_EQ(offered("vitrine data fe"), "fetch\n");
  EXPECT_EQ(offered("vitrine eval --split t"), "test\ntrain\n");
  EXPECT_EQ(offered("vitrine summary vit_ti1"), "vit_ti16\n");
  EXPECT_EQ(offered("vitrine train rec"), "recipe.yaml\n");
  EXPECT_EQ(offered("vitrine train --resume r"), "runs/\n");  // a folder, and no file
}

}  // namespace vitrine
