#include "vitrine/weights/load.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "tests/support/errors.h"
#include "tests/support/small_checkpoint.h"
#include "tests/support/temporary_folder.h"
#include "vitrine/core/peak_memory.h"
#include "vitrine/formats/mapped_tensor.h"
#include "vitrine/models/model.h"
#include "vitrine/weights/checkpoint.h"

namespace vitrine {
namespace {

std::shared_ptr<Model> small_vit(const std::vector<std::string>& more = {}) {
  std::vector<std::string> settings = {"image=16", "patch=4", "classes=5", "dim=16",
                                       "depth=1",  "heads=2", "hidden=32"};
  settings.insert(settings.end(), more.begin(), more.end());
  return read_model("name: vit_ti16", settings, "test").build();
}

TensorFile file_of(const Model& model) {
  TensorFile file;
  for (const auto& [name, weight] : named_weights(model))
    file.tensors.emplace_back(name, weight.detach().clone());
  return file;
}

torch::Tensor weight(const Model& model, const std::string& name) {
  for (const auto& [known, value] : named_weights(model))
    if (known == name) return value.detach();
  return {};
}

}  // namespace

TEST(LoadWeights, StrictlyRefusesWhatDoesNotFitAndTouchesNothing) {
  const auto from = small_vit(), into = small_vit({"classes=3"});
  const auto before = weight(*into, "cls_token").clone();
  const auto message = test::error_of([&] { load_weights(*into, file_of(*from), "a file"); });
  EXPECT_TRUE(test::contains(message, "a file: weight 'head.weight' is 5x16, the model's is 3x16"));
  EXPECT_TRUE(weight(*into, "cls_token").equal(before));
  auto file = file_of(*from);
  file.tensors.emplace_back("more", torch::zeros({1}));
  EXPECT_TRUE(test::contains(test::error_of([&] { load_weights(*from, file, "a file"); }),
                             "weight 'more' is unknown to the model"));
  file.tensors.erase(file.tensors.begin());
  EXPECT_TRUE(test::contains(test::error_of([&] { load_weights(*from, file, "a file"); }),
                             "a file has no weight 'cls_token'"));
}

TEST(LoadWeights, BorrowsTheFilesMemoryUntilTheModelOwnsIt) {
  const test::TemporaryFolder folder;
  const auto path = folder / "a.safetensors";
  test::save_small_checkpoint(path, "vit_c10_small", test::kSmallVit);
  const auto expected = load_checkpoint(path), borrowed = load_checkpoint(path, FileMemory::Borrow);
  EXPECT_TRUE(is_mapped(weight(*borrowed.model, "blocks.0.attn.qkv.weight")));
  EXPECT_FALSE(is_mapped(weight(*expected.model, "blocks.0.attn.qkv.weight")));
  const auto x = borrowed.model->example_input(2);
  const torch::NoGradGuard no_grad;
  EXPECT_TRUE(borrowed.model->forward(x).equal(expected.model->forward(x)));
  own_weights(*borrowed.model);
  for (const auto& [name, value] : named_weights(*borrowed.model))
    EXPECT_FALSE(is_mapped(value)) << name;
  fs::resize_file(path, 0);  // whoever still read the file would die
  EXPECT_TRUE(borrowed.model->forward(x).equal(expected.model->forward(x)));
}

TEST(LoadWeights, PartiallyTakesWhatFitsAndAccountsForTheRest) {
  const auto from = small_vit(), into = small_vit({"classes=3", "depth=2"});
  auto file = file_of(*from);
  file.tensors.emplace_back("more", torch::zeros({1}));
  const auto head = weight(*into, "head.weight").clone();
  const auto account = load_weights(*into, file, "a file", {.partial = true});
  EXPECT_TRUE(weight(*into, "cls_token").equal(weight(*from, "cls_token")));
  EXPECT_TRUE(weight(*into, "head.weight").equal(head));
  EXPECT_EQ(account.count(LoadStatus::Missing), 12);  // the second block
  EXPECT_EQ(account.count(LoadStatus::Skipped), 3);   // the head and the unknown one
  EXPECT_EQ(account.count(LoadStatus::Loaded), std::ssize(file.tensors) - 3);
  EXPECT_TRUE(test::contains(account.lines(), "(is 5x16, the model's is 3x16)"));
}

TEST(LoadWeights, LeavesANewHeadAlone) {
  const auto from = small_vit(), same = small_vit(), other = small_vit({"classes=3"});
  const auto file = file_of(*from);
  const auto head = weight(*same, "head.weight").clone();
  EXPECT_EQ(load_weights(*same, file, "a file", {.skip = {"head."}}).count(LoadStatus::Skipped), 2);
  EXPECT_TRUE(weight(*same, "head.weight").equal(head));
  EXPECT_TRUE(weight(*same, "cls_token").equal(weight(*from, "cls_token")));
  const LoadPolicy if_other{.skip_unfitting = {"head."}};
  EXPECT_EQ(load_weights(*other, file, "a file", if_other).count(LoadStatus::Skipped), 2);
  EXPECT_EQ(load_weights(*same, file, "a file", if_other).count(LoadStatus::Skipped), 0);
  EXPECT_TRUE(weight(*same, "head.weight").equal(weight(*from, "head.weight")));
}

TEST(LoadWeights, ReadsOnlyWhatIsUnderThePrefix) {
  const auto from = small_vit(), into = small_vit();
  TensorFile file{.tensors = {{"other", torch::zeros({1})}}, .metadata = {}};
  for (const auto& [name, value] : file_of(*from).tensors)
    file.tensors.emplace_back("model." + name, value);
  const auto account = load_weights(*into, file, "a file", {}, "model.");
  EXPECT_EQ(std::ssize(account.notes), std::ssize(file.tensors) - 1);
  EXPECT_TRUE(weight(*into, "head.weight").equal(weight(*from, "head.weight")));
}

TEST(LoadWeights, ResizesPositionsOnRequestOnly) {
  const auto from = small_vit(), into = small_vit({"image=24"});
  const auto file = file_of(*from);
  EXPECT_TRUE(test::contains(test::error_of([&] { load_weights(*into, file, "a file"); }),
                             "is 1x17x16, the model's is 1x37x16"));
  const auto account = load_weights(*into, file, "a file", {.positions = PositionResize::Bicubic});
  EXPECT_EQ(account.count(LoadStatus::Resized), 1);
  EXPECT_TRUE(into->position_table().equal(
      resized_positions(from->position_table(), 1, 6, 6, PositionResize::Bicubic)));
}

// The same numbers as torch's own interpolation gives in Python:
// F.interpolate(torch.arange(4.).view(1, 1, 2, 2), size=(2, 4), mode=..., align_corners=False).
TEST(ResizedPositions, InterpolateTheGridAndKeepThePrefix) {
  const auto table = torch::tensor({9., 0., 1., 2., 3.}).to(torch::kFloat).view({1, 5, 1});
  const auto rows = [&](PositionResize how) {
    return resized_positions(table, /*prefix=*/1, /*rows=*/2, /*columns=*/4, how).view({9});
  };
  EXPECT_TRUE(
      torch::allclose(rows(PositionResize::Bilinear),
                      torch::tensor({9., 0., .25, .75, 1., 2., 2.25, 2.75, 3.}).to(torch::kFloat)));
  // Cubic convolution with a = -0.75 at 1/4: -0.10547, 0.87891, 0.26172, -0.03516.
  EXPECT_TRUE(torch::allclose(rows(PositionResize::Bicubic),
                              torch::tensor({9., -.10546875, .2265625, .7734375, 1.10546875,
                                             1.89453125, 2.2265625, 2.7734375, 3.10546875})
                                  .to(torch::kFloat)));
}

TEST(ResizedPositions, EqualTorchOnManyChannels) {
  torch::manual_seed(1);
  const auto table = torch::randn({1, 2 + 49, 8});
  const auto grid = table.narrow(1, 2, 49).view({1, 7, 7, 8}).permute({0, 3, 1, 2});
  const std::pair<PositionResize, torch::Tensor> expected[] = {
      {PositionResize::Bilinear, at::upsample_bilinear2d(grid, {12, 5}, false)},
      {PositionResize::Bicubic, at::upsample_bicubic2d(grid, {12, 5}, false)},
      {PositionResize::BicubicAntialias, at::_upsample_bicubic2d_aa(grid, {12, 5}, false)}};
  for (const auto& [how, resized] : expected) {
    const auto ours = resized_positions(table, 2, 12, 5, how);
    EXPECT_TRUE(ours.narrow(1, 0, 2).equal(table.narrow(1, 0, 2)));
    EXPECT_TRUE(torch::allclose(ours.narrow(1, 2, 60).view({12, 5, 8}),
                                resized.squeeze(0).permute({1, 2, 0}), 1e-6, 1e-6));
  }
  EXPECT_TRUE(test::contains(
      test::error_of([&] { resized_positions(table, 1, 4, 4, PositionResize::Bicubic); }),
      "a table of 1x51x8 holds 50 positions behind 1 rows, which are no square grid"));
}

TEST(Checkpoint, HasClassNamesThatATerminalCanShow) {
  test::TemporaryFolder folder;
  const auto path = folder / "small.safetensors";
  test::save_small_checkpoint(path, "vit_c10_small", test::kSmallVit);
  auto file = load_safetensors(path);
  file.metadata["classes"] = R"(["\u001b[31mcat", "a\nb", "고양이", "dog"])";
  save_safetensors(path, file);
  EXPECT_EQ(load_checkpoint(path).info.classes,
            (std::vector<std::string>{" [31mcat", "a b", "고양이", "dog"}));
}

TEST(Checkpoint, WithAFlippedBitInItsSettingsIsRefused) {
  test::TemporaryFolder folder;
  const auto path = folder / "small.safetensors";
  test::save_small_checkpoint(path, "vit_c10_small", test::kSmallVit);
  auto bytes = read_file(path);
  const auto at = bytes.find("depth: 2");
  ASSERT_NE(at, std::string::npos);
  bytes[at + 7] ^= 1;  // 3
  write_file_atomically(path, bytes);
  const auto refused = [&](auto&& read) {
    return test::contains(test::error_of([&] { read(path); }), "the file is damaged");
  };
  EXPECT_TRUE(refused([](const fs::path& p) { load_checkpoint(p); }));
  EXPECT_TRUE(refused([](const fs::path& p) { stored_model(p, {}); }));
}

TEST(Checkpoint, ThatDescribesAFarLargerModelIsRefusedBeforeItIsBuilt) {
  test::TemporaryFolder folder;
  const auto path = folder / "small.safetensors";
  test::save_small_checkpoint(path, "vit_c10_small", test::kSmallVit);
  const auto message_with = [&](const std::string& from, const std::string& to) {
    auto file = load_safetensors(path);
    auto& model = file.metadata["model"];
    const auto at = model.find(from);
    EXPECT_NE(at, std::string::npos);
    model.replace(at, from.size(), to);
    save_safetensors(folder / "changed.safetensors", file);
    const PeakMemory memory;
    const auto message = test::error_of([&] { load_checkpoint(folder / "changed.safetensors"); });
    EXPECT_LT(memory.bytes().value_or(0), 64 << 20);
    return message;
  };
  const auto read_only = [&](auto&& read) {
    return test::error_of([&] { read(folder / "changed.safetensors"); });
  };
  EXPECT_TRUE(test::contains(message_with("depth: 2", "depth: 1000000000"),
                             "describes a model with depth=1000000000, but holds"));
  EXPECT_TRUE(test::contains(message_with("depth: 2", "depth: 100000"), "far larger than its"));
  // What only asks for the model (`summary`, `init`) would build it, too.
  EXPECT_TRUE(test::contains(read_only([](const fs::path& p) { stored_model(p, {}); }),
                             "far larger than its"));
  EXPECT_TRUE(
      test::contains(read_only([](const fs::path& p) { stored_info(p); }), "far larger than its"));
  EXPECT_TRUE(test::contains(message_with("hidden: 64", "hidden: 1000000"), "'blocks.0.mlp.fc1"));
  EXPECT_TRUE(test::contains(message_with("positions: learned", "positions: sinusoidal"),
                             "is unknown to the model"));
  EXPECT_TRUE(test::contains(message_with("image: 16", "image: 1000000"), "changed.safetensors"));
}

}  // namespace vitrine
