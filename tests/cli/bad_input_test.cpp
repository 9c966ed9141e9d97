// What users get wrong: a clear message, exit code 1 or, for misuse, 2, and nothing lost.
#include <gtest/gtest.h>

#include "tests/support/command.h"
#include "tests/support/errors.h"
#include "tests/support/small_checkpoint.h"
#include "tests/support/temporary_folder.h"

namespace vitrine {
namespace {

class BadInput : public testing::Test {
 protected:
  BadInput() { test::save_small_checkpoint(good_, "vit_ti16", test::kSmallVit); }

  std::string error_of(std::vector<std::string> arguments, int code = 1) {
    const auto outcome = test::run_command(std::move(arguments));
    EXPECT_EQ(outcome.code, code) << outcome.err;
    EXPECT_EQ(outcome.out, "");
    return outcome.err;
  }

  std::string misuse_of(std::vector<std::string> arguments) {
    return error_of(std::move(arguments), 2);
  }

  test::TemporaryFolder folder_;
  fs::path good_ = folder_ / "good.safetensors";
};

}  // namespace

TEST_F(BadInput, ATruncatedCheckpointIsRefused) {
  const auto bytes = read_file(good_);
  const auto path = (folder_ / "short.safetensors").string();
  write_file_atomically(path, bytes.substr(0, bytes.size() / 2));
  for (const auto* command : {"eval", "summary"}) {
    const auto message = error_of({command, path});
    EXPECT_TRUE(test::contains(message, path));
    EXPECT_TRUE(test::contains(message, "truncated")) << command;
  }
}

TEST_F(BadInput, AFlippedBitInACheckpointIsRefused) {
  auto bytes = read_file(good_);
  bytes[bytes.size() - 100] ^= 4;
  const auto path = (folder_ / "flipped.safetensors").string();
  write_file_atomically(path, bytes);
  EXPECT_TRUE(test::contains(error_of({"eval", path}), "damaged"));
}

TEST_F(BadInput, ATextFileNamedPngIsRefused) {
  const auto path = (folder_ / "note.png").string();
  write_file_atomically(path, "this is not an image");
  for (const auto* command : {"predict", "explain"})
    EXPECT_TRUE(test::contains(error_of({command, "--model", good_.string(), path}), path));
}

TEST_F(BadInput, AnEmptyClassFolderIsRefused) {
  make_folder(folder_ / "images/cat");
  make_folder(folder_ / "images/dog");
  const auto message =
      error_of({"data", "info", "folder", "path=" + (folder_ / "images").string()});
  EXPECT_TRUE(test::contains(message, "cat"));
}

TEST_F(BadInput, MissingDataSaysWhatToFetch) {
  write_file_atomically(folder_ / "r.yaml", "model: {name: cct_2_3x2}\ndata: {dataset: cifar10}\n");
  const auto message =
      error_of({"train", folder_ / "r.yaml", "data.root=" + (folder_ / "none").string(), "--out",
                folder_ / "out"});
  EXPECT_TRUE(test::contains(message, "vitrine data fetch cifar10"));
  EXPECT_FALSE(fs::exists(folder_ / "out"));
}

TEST_F(BadInput, HeadsAndPatchesThatDoNotFitAreNamed) {
  EXPECT_TRUE(test::contains(misuse_of({"summary", "vit_b16", "heads=7"}),
                             "dim 768 is not a multiple of heads 7"));
  EXPECT_TRUE(test::contains(misuse_of({"summary", "vit_b16", "patch=15"}),
                             "patch 15 does not divide image 224"));
  EXPECT_TRUE(test::contains(misuse_of({"summary", "vit_b61"}), "vit_b16"));
}

TEST_F(BadInput, SharesOutsideTheirRangeAreNamed) {
  EXPECT_TRUE(test::contains(misuse_of({"summary", "vit_b16", "dropout=1.5"}), "dropout 1.5"));
  EXPECT_TRUE(test::contains(misuse_of({"summary", "cct_2_3x2", "drop_path=1"}), "drop_path 1"));
}

TEST_F(BadInput, AnUnknownDeviceIsNamed) {
  EXPECT_TRUE(test::contains(misuse_of({"eval", good_.string(), "--device", "tpu"}), "tpu"));
  const auto out = folder_ / "out";
  EXPECT_TRUE(test::contains(misuse_of({"train", VITRINE_SOURCE_DIR "/recipes/cct2-cifar10.yaml",
                                        "--device", "tpu", "--out", out}),
                             "tpu"));
  EXPECT_FALSE(fs::exists(out));
}

}  // namespace vitrine
