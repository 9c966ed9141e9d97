// Files that PyTorch wrote: see tests/fixtures/make_pth.py.
#include "vitrine/formats/pth.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"
#include "vitrine/formats/mapped_tensor.h"
#include "vitrine/weights/read_tensors.h"

namespace vitrine {
namespace {

fs::path pth_fixture(const std::string& name) {
  return fs::path(VITRINE_SOURCE_DIR "/tests/fixtures/pth") / name;
}

torch::Tensor counted_to(at::IntArrayRef shape, torch::ScalarType dtype = torch::kFloat) {
  const auto count = at::empty(shape, torch::kMeta).numel();
  return torch::arange(count).view(shape).to(dtype);
}

void expect_tensor(const TensorFile& file, const std::string& name, const torch::Tensor& value) {
  const auto* found = file.find(name);
  ASSERT_NE(found, nullptr) << name;
  EXPECT_EQ(found->scalar_type(), value.scalar_type()) << name;
  EXPECT_TRUE(found->equal(value)) << name << " is " << *found;
}

class PthForms : public testing::TestWithParam<std::string> {};

}  // namespace

TEST_P(PthForms, HoldWhatPyTorchSaved) {
  const auto file = load_pth(pth_fixture(GetParam()));
  const auto rows = counted_to({4, 3});
  expect_tensor(file, "parameter", counted_to({2, 3}) + 0.5);
  expect_tensor(file, "rows", rows);
  expect_tensor(file, "tied", rows);
  expect_tensor(file, "lower_half", rows.slice(0, 2));
  expect_tensor(file, "transposed", rows.t());
  expect_tensor(file, "number", torch::tensor(int64_t{7}));
  expect_tensor(file, "empty", torch::empty({0, 5}));
  expect_tensor(file, "float64", counted_to({5}, torch::kDouble));
  expect_tensor(file, "float16", counted_to({5}, torch::kHalf));
  expect_tensor(file, "bfloat16", counted_to({5}, torch::kBFloat16));
  expect_tensor(file, "int32", counted_to({5}, torch::kInt));
  expect_tensor(file, "int16", counted_to({5}, torch::kShort));
  expect_tensor(file, "int8", counted_to({5}, torch::kChar));
  expect_tensor(file, "uint8", counted_to({5}, torch::kByte));
  expect_tensor(file, "bool", torch::tensor({true, false, true}));
  EXPECT_EQ(file.tensors.size(), 15);
  EXPECT_EQ(file.tensors.front().first, "parameter");
}

TEST_P(PthForms, AreRecognisedByContent) {
  test::TemporaryFolder folder;
  fs::copy(pth_fixture(GetParam()), folder / "weights.bin");
  EXPECT_EQ(read_tensors(folder / "weights.bin").tensors.size(), 15);
}

TEST_P(PthForms, OutliveTheirFile) {
  test::TemporaryFolder folder;
  fs::copy(pth_fixture(GetParam()), folder / "weights.pth");
  auto file = load_pth(folder / "weights.pth");
  fs::remove(folder / "weights.pth");
  expect_tensor(file, "rows", counted_to({4, 3}));
  // Written to, they are this process's own.
  const auto rows = *file.find("rows");
  rows.add_(1);
  expect_tensor(file, "tied", counted_to({4, 3}) + 1);
}

INSTANTIATE_TEST_SUITE_P(All, PthForms, testing::Values("zip.pth", "protocol4.pth", "legacy.pth"),
                         [](const auto& test) { return fs::path(test.param).stem().string(); });

TEST(Pth, TakesTheStateDictOutOfATrainingCheckpoint) {
  const auto file = load_pth(pth_fixture("training.pth"));
  EXPECT_EQ(file.tensors.size(), 2);
  expect_tensor(file, "0.weight", counted_to({2, 2}));
  expect_tensor(file, "0.bias", counted_to({2}));
}

TEST(Pth, PrefersTheMovingAverage) {
  const auto file = load_pth(pth_fixture("training_ema.pth"));
  EXPECT_EQ(file.tensors.size(), 2);
  expect_tensor(file, "0.bias", counted_to({2}) + 10);
}

TEST(Pth, RefusesWholeModelsAndPrograms) {
  EXPECT_TRUE(test::contains(test::error_of([] { load_pth(pth_fixture("whole_model.pth")); }),
                             "holds a whole torch.nn.modules.container.Sequential"));
  EXPECT_TRUE(test::contains(test::error_of([] { load_pth(pth_fixture("script.pt")); }),
                             "is a TorchScript archive"));
  EXPECT_TRUE(test::contains(test::error_of([] { load_pth("/no/such.pth"); }),
                             "cannot open /no/such.pth: No such file"));
}

TEST(MappedTensor, PagesGivenBackAreReadAgain) {
  test::TemporaryFolder folder;
  const auto big = torch::arange(100'000, torch::kFloat);
  save_safetensors(folder / "big.safetensors", {{{"big", big}}, {}});
  const auto file = load_safetensors(folder / "big.safetensors");
  expect_tensor(file, "big", big);
  give_back(*file.find("big"));
  expect_tensor(file, "big", big);
  give_back(big);  // not mapped: untouched
  EXPECT_EQ(big[99'999].item<float>(), 99'999);
}

}  // namespace vitrine
