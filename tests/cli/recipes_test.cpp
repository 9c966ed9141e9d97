#include "tests/support/command.h"
#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/training.h"
#include "vitrine/core/image_files.h"
#include "vitrine/data/registry.h"
#include "vitrine/train/config.h"

namespace vitrine {
namespace {

/// Every key of the recipe has its row in docs/recipes.md.
void expect_documented(const Recipe& recipe) {
  static const auto page = read_file(VITRINE_SOURCE_DIR "/docs/recipes.md");
  const auto table = to_markdown(recipe);
  std::istringstream rows(table);
  for (std::string row; std::getline(rows, row);) {
    if (!row.starts_with("| `")) continue;
    const auto key = row.substr(2, row.find('`', 3) - 1);  // with its backticks
    const bool is_group = table.find(key.substr(0, key.size() - 1) + ".") != std::string::npos;
    EXPECT_TRUE(is_group || test::contains(page, key))
        << recipe.model.name() << " " << recipe.data.dataset.name() << " " << key;
  }
}

/// Changes the working directory while it lives.
class InFolder {
 public:
  explicit InFolder(const fs::path& folder) { fs::current_path(folder); }
  InFolder(const InFolder&) = delete;
  InFolder& operator=(const InFolder&) = delete;
  ~InFolder() { fs::current_path(before_); }

 private:
  fs::path before_ = fs::current_path();
};

}  // namespace

TEST(Recipes, EveryKeyIsDocumented) {
  Recipe recipe;
  for (const auto& model : models().names()) {
    recipe.model.choose(model);
    expect_documented(recipe);
  }
  for (const auto& dataset : datasets().names()) {
    recipe.data.dataset.choose(dataset);
    expect_documented(recipe);
  }
}

TEST(Recipes, The302MNetworkKeepsItsPublishedSettings) {
  const auto recipe = read_recipe(VITRINE_SOURCE_DIR "/recipes/vit-302m-cifar10.yaml", {});
  EXPECT_EQ(recipe.model.name(), "vit_c10_302m");
  EXPECT_EQ(recipe.seed, 123);
  EXPECT_EQ(recipe.data.batch * recipe.train.accumulate, 512);
  EXPECT_EQ(recipe.train.epochs, 800);
  const auto stored = to_yaml(recipe);
  for (const auto* setting :
       {"    kind: adam\n", "    lr: 5e-07\n", "    weight_decay: 0\n", "    kind: constant\n"})
    EXPECT_TRUE(test::contains(stored, setting)) << setting;
}

TEST(Recipes, ANameStandsForAChoice) {
  test::TemporaryFolder folder;
  write_file_atomically(folder / "r.yaml", "model: vit_c10_small\ndata: {dataset: waves}\n");
  const auto read = [&](const std::vector<std::string>& overrides) {
    return read_recipe((folder / "r.yaml").string(), overrides);
  };
  EXPECT_EQ(read({}).model.name(), "vit_c10_small");
  EXPECT_EQ(read({}).data.dataset.name(), "waves");
  EXPECT_EQ(read({"model=resnet18"}).model.name(), "resnet18");
  const auto stored = to_yaml(read({"data.dataset=bytes", "data.dataset.file=my.txt"}));
  EXPECT_TRUE(test::contains(stored, "  dataset:\n    name: bytes\n    file: /"));
  EXPECT_TRUE(test::contains(stored, "/my.txt\n    length: 1024\n"));
  EXPECT_TRUE(test::contains(test::error_of([&] { read({"data.dataset.lenght=3"}); }),
                             "did you mean 'length'"));
}

TEST(Train, ARunFindsItsImagesFromAnyFolder) {
  test::TemporaryFolder folder;
  for (const char* name : {"cat", "dog"})
    for (int i = 0; i < 20; ++i) {
      make_folder(folder / fmt::format("recipes/images/{}", name));
      write_png(folder / fmt::format("recipes/images/{}/{}.png", name, i), Image(9, 8));
    }
  write_file_atomically(
      folder / "recipes/r.yaml",
      "name: few\nmodel: {name: vit_c10_small, image: 8, patch: 4, dim: 8, depth: 1, heads: 1, "
      "hidden: 8, classes: 2}\ndata: {dataset: {name: folder, path: images}, batch: 4, preprocess: "
      "{image: 8}}\ntrain: {epochs: 1}\n");
  make_folder(folder / "elsewhere");
  {
    const InFolder here(folder.path());
    const auto trained = test::run_command({"train", "recipes/r.yaml", "--run", "run"});
    ASSERT_EQ(trained.code, 0) << trained.err;
    const auto other = test::run_command(
        {"train", "recipes/r.yaml", "--run", "other", "data.dataset.path=recipes/images"});
    EXPECT_EQ(other.code, 0) << other.err;
  }
  const InFolder there(folder / "elsewhere");
  for (const char* run : {"../run", "../other"}) {
    const auto scored = test::run_command({"eval", run});
    EXPECT_EQ(scored.code, 0) << scored.err;
    EXPECT_TRUE(test::contains(read_file(fs::path(run) / "recipe.yaml"),
                               "path: " + (folder / "recipes/images").string()));
  }
}

TEST(Train, RefusesSizesThatCannotFitBeforeItMakesAFolder) {
  test::TemporaryFolder folder;
  write_file_atomically(folder / "r.yaml", test::small_recipe());
  const auto error = [&](const std::vector<std::string>& overrides) {
    std::vector<std::string> command = {"train", (folder / "r.yaml").string(), "--out",
                                        (folder / "runs").string()};
    command.insert(command.end(), overrides.begin(), overrides.end());
    const auto outcome = test::run_command(command);
    EXPECT_EQ(outcome.code, 1);
    EXPECT_FALSE(fs::exists(folder / "runs"));
    EXPECT_FALSE(test::contains(outcome.err, "frame #"));
    return outcome.err;
  };
  EXPECT_TRUE(test::contains(error({"data.batch=100000000"}),
                             "data.batch 100000000 is more than the 288 examples"));
  EXPECT_TRUE(test::contains(error({"data.batch=9223372036854775807"}), "more than the 288"));
  EXPECT_TRUE(test::contains(error({"model.dim=999999999", "model.heads=1"}), "bytes"));
  EXPECT_TRUE(test::contains(error({"model.dim=9000000", "model.heads=1"}), "bytes"));
  const auto bench = test::run_command({"bench", "infer", "dim=9000000", "heads=1"});
  EXPECT_EQ(bench.code, 1);
  EXPECT_TRUE(test::contains(bench.err, "bytes"));
}

}  // namespace vitrine
