// The cards of the models: docs/models.md and its figures.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "tests/support/command.h"
#include "tests/support/temporary_folder.h"
#include "vitrine/inspect/cards/families.h"
#include "vitrine/inspect/cards/page.h"
#include "vitrine/inspect/cards/structure.h"
#include "vitrine/models/registry.h"
#include "vitrine/train/config.h"
#include "vitrine/weights/importers.h"

namespace vitrine {
namespace {

const fs::path kSource = VITRINE_SOURCE_DIR;

const ModelFamily& family_of(const std::string& model) {
  const auto& all = model_families();
  return *std::find_if(all.begin(), all.end(), [&](const auto& f) { return f.has(model); });
}

ModelStructure structure_of(const std::string& model) {
  return model_structure(summarize(ModelChoice(model)), family_of(model).blocks);
}

Recipe shipped_recipe(const std::string& name) {
  return read_recipe((kSource / "recipes" / (name + ".yaml")).string(), {});
}

}  // namespace

TEST(ModelCards, EveryModelBelongsToExactlyOne) {
  for (const auto& [name, entry] : models()) {
    if (!entry.alias_of.empty()) continue;
    const auto& families = model_families();
    const auto& others = other_models();
    EXPECT_EQ(std::count_if(families.begin(), families.end(),
                            [&, &name = name](const auto& f) { return f.has(name); }) +
                  std::count_if(others.begin(), others.end(),
                                [&, &name = name](const auto& o) { return o.name == name; }),
              1)
        << name;
  }
}

TEST(ModelCards, EveryImporterBelongsToExactlyOne) {
  std::map<std::string, int> named;
  for (const auto& family : model_families())
    for (const auto& source : family.weights)
      for (const auto& importer : source.importers) ++named[importer];
  for (const auto& name : importers().names()) EXPECT_EQ(named[name], 1) << name;
  EXPECT_EQ(named.size(), importers().names().size());
}

TEST(ModelCards, EveryRecipeExistsAndTrainsAModelOfItsCard) {
  for (const auto& family : model_families())
    for (const auto& recipe : family.recipes)
      EXPECT_TRUE(family.has(shipped_recipe(recipe).model.name())) << recipe;
  for (const auto& [model, recipe] : other_models())
    EXPECT_EQ(shipped_recipe(recipe).model.name(), model);
}

TEST(ModelCards, AreTheOnesInDocs) {
  for (const auto& file : model_cards())
    EXPECT_TRUE(read_file(kSource / "docs" / file.path) == file.text)
        << file.path << " differs: run `vitrine models --cards docs`";
}

TEST(ModelCards, HaveNoFigureThatNobodyDraws) {
  std::vector<std::string> drawn, found;
  for (const auto& file : model_cards()) drawn.push_back(file.path.filename().string());
  for (const auto& entry : fs::directory_iterator(kSource / "docs/images/models"))
    found.push_back(entry.path().filename().string());
  for (const auto& name : found) EXPECT_EQ(std::count(drawn.begin(), drawn.end(), name), 1) << name;
}

TEST(ModelCards, AreWrittenByTheCommand) {
  test::TemporaryFolder folder;
  const auto outcome = test::run_command({"models", "--cards", (folder / "out").string()});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  for (const auto& file : model_cards())
    EXPECT_TRUE(read_file(folder / "out" / file.path) == file.text) << file.path;
  EXPECT_EQ(test::run_command({"models", "vit", "--cards", folder.path().string()}).code, 2);
}

TEST(ModelStructure, HasAStageForEveryModelWithACard) {
  for (const auto& [name, entry] : models())
    for (const auto& family : model_families()) {
      if (!entry.alias_of.empty() || !family.has(name)) continue;
      const auto structure = structure_of(name);
      EXPECT_FALSE(structure.stages.empty()) << name;
      EXPECT_FALSE(structure.head.empty()) << name;
    }
}

TEST(ModelStructure, CountsBlocksTokensAndHeads) {
  const auto vit = structure_of("deit_s16_distilled");
  ASSERT_EQ(vit.stages.size(), 1u);
  const auto& s = vit.stages[0];
  EXPECT_EQ(s.blocks, 12);
  EXPECT_EQ(s.grid, (TokenGrid{.rows = 14, .columns = 14, .prefix = 2}));
  EXPECT_EQ(s.width, 384);
  EXPECT_EQ(s.heads, 6);
  EXPECT_EQ(s.hidden, 1536);
  EXPECT_EQ(s.before,
            (std::vector<std::string>{"linear 768 → 384", "cls_token", "dist_token", "pos_embed"}));
  EXPECT_EQ(vit.head, (std::vector<std::string>{"linear 384 → 1000", "linear 384 → 1000"}));
}

TEST(ModelStructure, SeesWindowsAndStages) {
  const auto stages = structure_of("swin_t").stages;
  ASSERT_EQ(stages.size(), 4u);
  const std::vector<int64_t> blocks{2, 2, 6, 2}, heads{3, 6, 12, 24}, windows{7, 7, 7, 0};
  for (size_t i = 0; i < stages.size(); ++i) {
    EXPECT_EQ(stages[i].blocks, blocks[i]);
    EXPECT_EQ(stages[i].heads, heads[i]);
    EXPECT_EQ(stages[i].window, windows[i]);  // the last grid is one window
    EXPECT_EQ(stages[i].grid.rows, 56 >> i);
    EXPECT_EQ(stages[i].width, 96 << i);
  }
}

TEST(ModelStructure, SeesReducedKeysAndInnerAttention) {
  const auto cvt = structure_of("cvt_13").stages;
  ASSERT_EQ(cvt.size(), 3u);
  EXPECT_EQ(cvt[0].keys, (TokenGrid{.rows = 28, .columns = 28}));
  EXPECT_EQ(cvt[2].keys, (TokenGrid{.rows = 7, .columns = 7, .prefix = 1}));
  const auto tnt = structure_of("tnt_s").stages;
  ASSERT_EQ(tnt.size(), 1u);
  EXPECT_EQ(tnt[0].inner.groups, 196);
  EXPECT_EQ(tnt[0].inner.grid, (TokenGrid{.rows = 4, .columns = 4}));
  EXPECT_EQ(tnt[0].inner.heads, 4);
  EXPECT_EQ(tnt[0].heads, 6);
}

TEST(ModelStructure, TellsConvolutionsAndSequences) {
  const auto hybrid = structure_of("r50_vit_b16").stages;
  ASSERT_EQ(hybrid.size(), 4u);
  EXPECT_FALSE(hybrid[2].attention);
  EXPECT_EQ(hybrid[2].blocks, 9);
  EXPECT_EQ(hybrid[2].width, 1024);
  EXPECT_TRUE(hybrid[3].attention);
  const auto sparse = structure_of("sparse_c10_tiny").stages;
  ASSERT_EQ(sparse.size(), 1u);
  EXPECT_EQ(sparse[0].grid, sequence_grid(3072));
  EXPECT_EQ(sparse[0].heads, 2);
}

}  // namespace vitrine
