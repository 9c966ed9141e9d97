#include "vitrine/weights/format_version.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "tests/support/command.h"
#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"
#include "vitrine/models/model.h"
#include "vitrine/weights/checkpoint.h"

namespace vitrine {
namespace {

const fs::path kVersion1 = VITRINE_SOURCE_DIR "/tests/fixtures/checkpoint_v1.safetensors";

/// The stored checkpoint with another entry for its version; empty: none.
void save_with_version(const fs::path& path, const std::string& version) {
  auto file = load_safetensors(kVersion1);
  file.metadata.erase("format_version");
  if (!version.empty()) file.metadata["format_version"] = version;
  save_safetensors(path, file);
}

torch::Tensor logits_of(const fs::path& path) {
  const auto x = torch::arange(3 * 8 * 8).view({1, 3, 8, 8}).to(torch::kFloat).mul(0.1).sin();
  return load_checkpoint(path).model->forward(x).detach();
}

}  // namespace

TEST(FormatVersion, OneIsReadAsWhenItWasWritten) {
  const auto [model, info] = load_checkpoint(kVersion1);
  EXPECT_EQ(load_safetensors(kVersion1).metadata.at("format_version"), "1");
  EXPECT_EQ(info.model.name(), "vit_ti16");
  EXPECT_EQ(info.classes.size(), 2u);
  EXPECT_EQ(info.epoch, 1);
  ASSERT_TRUE(info.preprocess.has_value());
  EXPECT_TRUE(test::contains(info.recipe, "name: synthetic"));
  // What the program that wrote it gave.
  EXPECT_TRUE(
      torch::allclose(logits_of(kVersion1), torch::tensor({{1.4832f, -0.2033f}}), 1e-3, 1e-3))
      << logits_of(kVersion1);
}

TEST(FormatVersion, ThatIsMissingIsOne) {
  test::TemporaryFolder folder;
  save_with_version(folder / "m.safetensors", "");
  EXPECT_TRUE(logits_of(folder / "m.safetensors").equal(logits_of(kVersion1)));
}

TEST(FormatVersion, OfANewerProgramIsRefusedWithTheRemedy) {
  test::TemporaryFolder folder;
  const auto path = folder / "m.safetensors";
  save_with_version(path, "2");
  const auto refused = [&](auto&& read) {
    return test::contains(test::error_of([&] { read(path); }),
                          "was written by a newer vitrine (format version 2; this one reads up to "
                          "1); update vitrine");
  };
  EXPECT_TRUE(refused([](const fs::path& p) { load_checkpoint(p); }));
  EXPECT_TRUE(refused([](const fs::path& p) { stored_info(p); }));
  EXPECT_TRUE(refused([](const fs::path& p) { stored_model(p); }));
  const auto outcome = test::run_command({"summary", path});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_TRUE(test::contains(outcome.err, "update vitrine"));
}

TEST(FormatVersion, ThatIsNoNumberIsRefused) {
  test::TemporaryFolder folder;
  for (const auto* version : {"two", "0", "-1", "1.5", " 1", "99999999999999999999"}) {
    save_with_version(folder / "m.safetensors", version);
    EXPECT_TRUE(test::contains(test::error_of([&] { load_checkpoint(folder / "m.safetensors"); }),
                               "its format version is not a number"))
        << version;
  }
}

}  // namespace vitrine
