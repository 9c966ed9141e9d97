// An iGPT that commands train, evaluate, sample from and probe.
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <nlohmann/json.hpp>

#include "tests/support/command.h"
#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"
#include "vitrine/core/files.h"
#include "vitrine/core/image_files.h"
#include "vitrine/data/palette_batches.h"
#include "vitrine/infer/generate.h"
#include "vitrine/models/decoder.h"
#include "vitrine/models/model.h"
#include "vitrine/weights/checkpoint.h"

namespace vitrine {
namespace {

const std::string kRecipe =
    "model: {name: igpt_c10, image: 8, colors: 16, dim: 16, heads: 2, hidden: 32, layers: 2}\n"
    "data: {dataset: {name: synthetic, image: 8, train: 64, test: 16}, batch: 8,\n"
    "       palette: {colors: 16}}\n"
    "train: {epochs: 1}\n";

class IgptCommands : public testing::Test {
 protected:
  IgptCommands() { write_file_atomically(recipe, kRecipe); }
  test::Outcome train(const std::vector<std::string>& more = {}) {
    std::vector<std::string> words = {"train", recipe, "--run", run, "--threads", "1"};
    words.insert(words.end(), more.begin(), more.end());
    return test::run_command(words);
  }

  test::TemporaryFolder folder;
  const std::string recipe = (folder / "igpt.yaml").string(), run = (folder / "run").string();
};

}  // namespace

TEST_F(IgptCommands, SampleAndCompleteWithThePaletteOfTheirCheckpoint) {
  const auto trained = train();
  ASSERT_EQ(trained.code, 0) << trained.err;
  const auto model = load_checkpoint(run).model;
  const auto palette = palette_of(model->decoder()->palette());
  const auto made = generate(run, {.count = 3});
  ASSERT_EQ(made.images.size(), 3u);
  EXPECT_EQ(made.unit, "pixels");
  EXPECT_EQ(made.tokens, 3 * 64);
  for (const auto& image : made.images) {
    EXPECT_EQ(image.channels, 3);
    const auto tokens = palette.tokens(image);
    for (size_t i = 0; i < tokens.size(); ++i) {
      const auto pixel = palette.pixel(tokens[i]);
      EXPECT_TRUE(std::equal(pixel.begin(), pixel.end(), image.pixels.begin() + 3 * i));
    }
  }
  const auto completed = generate(run, {.count = 2, .image = made.images[0], .keep = 0.5});
  for (const auto& image : completed.images)
    EXPECT_TRUE(
        std::equal(image.pixels.begin(), image.pixels.begin() + 96, made.images[0].pixels.begin()));
  EXPECT_EQ(completed.tokens, 2 * 32);

  const auto picture = (folder / "picture.png").string(), sheet = (folder / "sheet.png").string();
  write_png(picture, made.images[1]);
  const auto sampled =
      test::run_command({"sample", run, "-n", "1", "--complete", picture, "-o", sheet});
  EXPECT_EQ(sampled.code, 0) << sampled.err;
  EXPECT_TRUE(fs::exists(sheet));
  write_png(picture, Image(9, 8));
  const auto refused = test::run_command({"sample", run, "--complete", picture, "-o", sheet});
  EXPECT_EQ(refused.code, 1);
  EXPECT_TRUE(
      test::contains(refused.err, "the image is 9 x 8 with 3 channels, the model makes 8 x 8"));
}

TEST_F(IgptCommands, EvaluateInNatsAndBitsPerTokenWithTheModelsPalette) {
  ASSERT_EQ(train().code, 0);
  const auto before = test::run_command({"eval", run, "--json"});
  ASSERT_EQ(before.code, 0) << before.err;
  const auto json = nlohmann::json::parse(before.out);
  EXPECT_NEAR(json["bits_per_token"].get<double>(), json["loss"].get<double>() / std::log(2.0),
              1e-6);
  EXPECT_FALSE(json.contains("bits_per_dim"));
  // Other training images would give other colours; the test images keep the model's.
  const auto after = test::run_command({"eval", run, "--json", "data.limit=32"});
  ASSERT_EQ(after.code, 0) << after.err;
  EXPECT_EQ(nlohmann::json::parse(after.out)["loss"], json["loss"]);
}

TEST_F(IgptCommands, ContinueTrainingWithTheColoursOfTheirWeights) {
  ASSERT_EQ(train().code, 0);
  const auto again = (folder / "again").string();
  write_file_atomically(folder / "more.yaml",
                        "init: " + run +
                            "\n"
                            "data: {dataset: {name: synthetic, image: 8, train: 32, test: 16}, "
                            "batch: 8, palette: {colors: 16}}\ntrain: {epochs: 1}\n");
  const auto trained = test::run_command(
      {"train", (folder / "more.yaml").string(), "--run", again, "--threads", "1"});
  ASSERT_EQ(trained.code, 0) << trained.err;
  EXPECT_TRUE(load_checkpoint(again).model->decoder()->palette().equal(
      load_checkpoint(run).model->decoder()->palette()));
}

TEST_F(IgptCommands, ProbeTheMeanOfTheMiddleLayer) {
  ASSERT_EQ(train().code, 0);
  const auto probe = (folder / "probe").string();
  const std::vector<std::string> data = {
      "data.dataset={name: synthetic, image: 8, train: 64, test: 16}", "data.batch=8"};
  const auto probed = test::run_command({"probe", "-m", run, "--run", probe, "--cache",
                                         (folder / "cache").string(), data[0], data[1]});
  ASSERT_EQ(probed.code, 0) << probed.err;
  const auto [model, info] = load_checkpoint(probe);
  EXPECT_EQ(model->task(), Task::Classes);
  EXPECT_EQ(info.preprocess->mean, (std::vector<double>{0.5, 0.5, 0.5}));
  const auto theirs = load_checkpoint(run).model;
  EXPECT_TRUE(model->named_buffers()["colors"].equal(theirs->named_buffers()["colors"]));
  EXPECT_TRUE(
      model->named_parameters()["pos_embed"].equal(theirs->named_parameters()["pos_embed"]));
  const auto evaluated = test::run_command({"eval", probe, "--json"});
  ASSERT_EQ(evaluated.code, 0) << evaluated.err;
  EXPECT_TRUE(nlohmann::json::parse(evaluated.out).contains("accuracy"));
}

TEST_F(IgptCommands, RefuseDataThatDoNotFit) {
  const auto refusal = [&](const std::string& setting) { return train({setting}).err; };
  EXPECT_TRUE(test::contains(refusal("data.palette.colors=0"), "choose"));
  EXPECT_TRUE(test::contains(refusal("data.palette.colors=8"),
                             "the model knows 16 tokens, the data has 8; set model.colors=8"));
  EXPECT_TRUE(test::contains(refusal("data.dataset.image=9"),
                             "the images of the data have 81 pixels, those of the model 64; set "
                             "data.preprocess.image=8"));
}

}  // namespace vitrine
