#include "tests/support/glossary.h"

#include <gtest/gtest.h>

#include "vitrine/cli/commands.h"
#include "vitrine/data/registry.h"
#include "vitrine/models/registry.h"
#include "vitrine/train/config.h"

namespace vitrine {
namespace {

/// `name` is the command line that shows this help; the sub-commands' help counts too.
void expect_glossary_holds_in_help(const CLI::App& app, const std::string& name) {
  test::expect_glossary_holds(name + " --help", app.help());
  for (const auto* sub : app.get_subcommands({}))
    expect_glossary_holds_in_help(*sub, name + " " + sub->get_name());
}

}  // namespace

TEST(Glossary, HoldsInTheHelpOfEveryCommand) {
  for (const auto& command : cli::commands()) {
    CLI::App app(command.summary, command.name);
    command.bind(app);
    EXPECT_FALSE(app.help().empty()) << command.name;
    expect_glossary_holds_in_help(app, "vitrine " + command.name);
  }
}

TEST(Glossary, HoldsInTheKeysOfEveryModelAndDataSet) {
  Recipe recipe;
  for (const auto& name : models().names()) {
    recipe.model.choose(name);
    test::expect_glossary_holds("model " + name,
                                models().get(name).description + "\n" + to_markdown(recipe));
  }
  for (const auto& name : datasets().names()) {
    recipe.data.dataset.choose(name);
    test::expect_glossary_holds("data set " + name,
                                datasets().get(name).summary + "\n" + to_markdown(recipe));
  }
}

}  // namespace vitrine
