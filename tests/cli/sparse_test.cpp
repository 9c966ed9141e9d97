// What the commands do with Sparse Transformers.
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <nlohmann/json.hpp>

#include "tests/support/command.h"
#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"
#include "vitrine/core/settings.h"
#include "vitrine/models/model.h"
#include "vitrine/train/config.h"
#include "vitrine/weights/checkpoint.h"

namespace vitrine {
namespace {

const std::string kPublished = VITRINE_SOURCE_DIR "/tests/fixtures/openai_sparse.npz";

/// A tiny untrained model, saved as if it had learned the bytes of a file.
void save_byte_checkpoint(const fs::path& path, const fs::path& text) {
  write_file_atomically(text, std::string(1200, 'x'));
  Recipe recipe;
  Settings::from_text(
      fmt::format("{{model: {{name: sparse_c10_tiny, rows: 6, columns: 2, channels: 3, layers: 1, "
                  "dim: 8, key_width: 4, hidden: 8, pattern: {{stride: 6}}}}, data: {{dataset: "
                  "{{name: bytes, file: {}, length: 36}}, batch: 2}}}}",
                  text.string()),
      "test")
      .read_into(recipe);
  const CheckpointInfo info{.model = recipe.model, .recipe = to_yaml(recipe)};
  save_checkpoint(path, *recipe.model.build(), info);
}

}  // namespace

TEST(ImportCommand, MakesACheckpointThatOtherCommandsTake) {
  test::TemporaryFolder folder;
  const auto out = (folder / "tiny.safetensors").string();
  const auto outcome = test::run_command({"import", kPublished, "-o", out, "pattern.stride=8"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(test::contains(outcome.out, "tiny.safetensors: 12320 parameters"));
  EXPECT_TRUE(test::contains(outcome.out, "stride: 8"));
  EXPECT_EQ(test::run_command({"summary", out}).code, 0);
  const auto evaluated = test::run_command({"eval", out});
  EXPECT_EQ(evaluated.code, 1);
  EXPECT_TRUE(test::contains(evaluated.err, "does not say which data it was trained with"));
}

TEST(ImportCommand, LeavesNothingBehindWhereItFails) {
  test::TemporaryFolder folder;
  const auto out = (folder / "tiny.safetensors").string();
  const auto outcome = test::run_command({"import", kPublished, "-o", out, "layers=3"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_TRUE(test::contains(outcome.err, "are for layers=2; leave it out"));
  EXPECT_TRUE(fs::is_empty(folder.path()));
  EXPECT_TRUE(test::contains(test::run_command({"import", kPublished, "-o", "tiny.npz"}).err,
                             "-o tiny.npz does not end in .safetensors"));
}

TEST(EvalCommand, TellsBitsPerDimOfBytes) {
  test::TemporaryFolder folder;
  const auto path = (folder / "bytes.safetensors").string();
  save_byte_checkpoint(path, folder / "text");
  // The last layer of a new model is zero: every byte costs 8 bits.
  const auto text = test::run_command({"eval", path});
  EXPECT_EQ(text.code, 0) << text.err;
  EXPECT_TRUE(test::contains(text.out, "bits_per_dim  8.0000"));
  EXPECT_EQ(text.out.find("by channel"), std::string::npos);  // a text is no image
  const auto json = nlohmann::json::parse(test::run_command({"eval", path, "--json"}).out);
  EXPECT_NEAR(json["bits_per_dim"], 8, 1e-5);
}

}  // namespace vitrine
