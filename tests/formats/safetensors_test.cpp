#include "vitrine/formats/safetensors.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <torch/torch.h>

#include <csignal>
#include <nlohmann/json.hpp>

#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"

namespace vitrine {
namespace {

const torch::ScalarType kEveryDtype[] = {
    torch::kFloat64, torch::kFloat32, torch::kFloat16, torch::kBFloat16, torch::kInt64,
    torch::kInt32,   torch::kInt16,   torch::kInt8,    torch::kUInt8,    torch::kBool};

TensorFile file_of_every_dtype() {
  TensorFile file;
  for (const auto dtype : kEveryDtype)
    file.tensors.emplace_back(torch::toString(dtype), torch::arange(6).view({2, 3}).to(dtype));
  return file;
}

bool same(const torch::Tensor* a, const torch::Tensor& b) {
  return a != nullptr && a->dtype() == b.dtype() && torch::equal(*a, b);
}

struct RawHeader {
  nlohmann::json json;
  size_t data_begin;
};

RawHeader raw_header(const fs::path& path) {
  const auto bytes = read_file(path);
  uint64_t length = 0;
  std::memcpy(&length, bytes.data(), 8);
  return {nlohmann::json::parse(bytes.substr(8, length)), 8 + length};
}

}  // namespace

TEST(Safetensors, GivesBackEveryDtype) {
  test::TemporaryFolder folder;
  const auto file = file_of_every_dtype();
  save_safetensors(folder / "a", file);
  const auto loaded = load_safetensors(folder / "a");
  ASSERT_EQ(loaded.tensors.size(), std::size(kEveryDtype));
  for (const auto& [name, tensor] : file.tensors)
    EXPECT_TRUE(same(loaded.find(name), tensor)) << name;
}

TEST(Safetensors, GivesBackScalarsEmptyAndScatteredTensors) {
  test::TemporaryFolder folder;
  const auto matrix = torch::randn({4, 6}).requires_grad_();
  const TensorFile file{{{"scalar", torch::tensor(0.1, torch::kFloat64)},
                         {"empty", torch::empty({0, 3})},
                         {"transposed", matrix.t()},
                         {"slice", matrix.slice(1, 1, 6, 2)},
                         {"broadcast", torch::ones({1}).expand({3})}},
                        {}};
  save_safetensors(folder / "a", file);
  const auto loaded = load_safetensors(folder / "a");
  for (const auto& [name, tensor] : file.tensors)
    EXPECT_TRUE(same(loaded.find(name), tensor)) << name;
  EXPECT_EQ(loaded.find("empty")->sizes(), torch::IntArrayRef({0, 3}));
  EXPECT_EQ(loaded.find("scalar")->dim(), 0);
  EXPECT_EQ(loaded.find("absent"), nullptr);
}

TEST(Safetensors, KeepsEveryBitOfNumbersThatAreNotEqualToThemselves) {
  test::TemporaryFolder folder;
  const auto bits = torch::tensor({0x7FC00001, -1, int(0x80000000), 1}, torch::kInt32);
  save_safetensors(folder / "a", {{{"x", bits.view(torch::kFloat32)}}, {}});
  EXPECT_TRUE(torch::equal(load_safetensors(folder / "a").find("x")->view(torch::kInt32), bits));
}

TEST(Safetensors, GivesBackMetadataAndNothingElse) {
  test::TemporaryFolder folder;
  const std::map<std::string, std::string> metadata = {{"model", "vit_tiny"},
                                                       {"한글", "\"quoted\"\n\\"},
                                                       {"vitrine.xxh3 of", "\"vitrine.xxh3\":\""}};
  save_safetensors(folder / "a", {{{"x", torch::ones(3)}}, metadata});
  EXPECT_EQ(load_safetensors(folder / "a").metadata, metadata);
  EXPECT_EQ(read_safetensors_metadata(folder / "a"), metadata);
}

TEST(Safetensors, HoldsNoTensorsAtAll) {
  test::TemporaryFolder folder;
  save_safetensors(folder / "a", {});
  EXPECT_TRUE(load_safetensors(folder / "a").tensors.empty());
}

TEST(Safetensors, AlignsEveryTensorAndLeavesNoGaps) {
  test::TemporaryFolder folder;
  save_safetensors(folder / "a", file_of_every_dtype());
  const auto [json, data_begin] = raw_header(folder / "a");
  EXPECT_EQ(data_begin % 8, 0);
  uint64_t bytes = 0;
  for (const auto& [name, entry] : json.items()) {
    if (name == "__metadata__") continue;
    const uint64_t begin = entry["data_offsets"][0], end = entry["data_offsets"][1];
    EXPECT_EQ(begin % ((end - begin) / 6), 0) << name;
    bytes += end - begin;
  }
  EXPECT_EQ(data_begin + bytes, fs::file_size(folder / "a"));
}

TEST(Safetensors, WritesTheSameBytesInWhateverOrderTheTensorsCome) {
  test::TemporaryFolder folder;
  auto file = file_of_every_dtype();
  save_safetensors(folder / "a", file);
  std::reverse(file.tensors.begin(), file.tensors.end());
  save_safetensors(folder / "b", file);
  EXPECT_EQ(read_file(folder / "a"), read_file(folder / "b"));
}

TEST(Safetensors, ReadsAFileThatAnotherProgramWrote) {
  const auto file = load_safetensors(VITRINE_SOURCE_DIR "/tests/fixtures/foreign.safetensors");
  const auto of = [](std::initializer_list<double> values, torch::ScalarType dtype) {
    return torch::tensor(std::vector<double>(values), torch::kFloat64).to(dtype);
  };
  EXPECT_EQ(file.tensors.size(), 11);
  EXPECT_TRUE(same(file.find("bool"), of({1, 0, 1}, torch::kBool)));
  EXPECT_TRUE(same(file.find("u8"), of({0, 255}, torch::kUInt8)));
  EXPECT_TRUE(same(file.find("i8"), of({-128, 127}, torch::kInt8)));
  EXPECT_TRUE(same(file.find("empty"), torch::empty({0, 4})));
  EXPECT_TRUE(same(file.find("i16"), of({-32768, 7}, torch::kInt16).view({1, 2})));
  EXPECT_TRUE(same(file.find("i32"), of({-0x1p31, 9}, torch::kInt32)));
  EXPECT_TRUE(same(file.find("i64"), of({-0x1p63, 11}, torch::kInt64)));
  EXPECT_TRUE(same(file.find("f16"), of({0.5, -65504}, torch::kFloat16)));
  EXPECT_TRUE(same(file.find("bf16"), of({1.5, -2}, torch::kBFloat16)));
  EXPECT_TRUE(same(file.find("f32"), of({0, 1, 2, 3, 4, 5}, torch::kFloat32).view({2, 3})));
  EXPECT_TRUE(same(file.find("f64 한글"), torch::tensor(0.1, torch::kFloat64)));
  EXPECT_EQ(file.metadata, (decltype(file.metadata){{"format", "pt"}, {"author", "손"}}));
}

TEST(Safetensors, AFailedWriteKeepsTheOldFile) {
  test::TemporaryFolder folder;
  save_safetensors(folder / "a", {{{"x", torch::ones(3)}}, {}});
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit before;
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small = {4096, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  const auto message = test::error_of([&] {
    save_safetensors(folder / "a", {{{"x", torch::zeros(100000)}}, {}});
  });
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_TRUE(test::contains(message, "free space"));
  EXPECT_TRUE(same(load_safetensors(folder / "a").find("x"), torch::ones(3)));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), {}), 1);
}

TEST(Safetensors, RefusesToWriteWhatTheFormatCannotHold) {
  test::TemporaryFolder folder;
  const auto message_for = [&](const TensorFile& file) {
    return test::error_of([&] { save_safetensors(folder / "a", file); });
  };
  const auto x = torch::ones(1);
  EXPECT_TRUE(
      test::contains(message_for({{{"x", x}, {"x", x}}, {}}), "two tensors are called 'x'"));
  EXPECT_TRUE(test::contains(message_for({{{"__metadata__", x}}, {}}), "cannot be called"));
  EXPECT_TRUE(test::contains(message_for({{{"x", torch::Tensor()}}, {}}), "'x' is not defined"));
  EXPECT_TRUE(
      test::contains(message_for({{{"x", x.to(torch::kComplexFloat)}}, {}}), "ComplexFloat"));
  EXPECT_TRUE(test::contains(message_for({{{"x", x.to_sparse()}}, {}}), "'x' is sparse"));
  EXPECT_TRUE(test::contains(message_for({{{"\xff", x}}, {}}), "not UTF-8"));
  EXPECT_TRUE(test::contains(message_for({{{"x", x}}, {{"note", "\xff"}}}), "not UTF-8"));
  EXPECT_FALSE(fs::exists(folder / "a"));
}

TEST(Safetensors, NamesAFileThatIsNotThere) {
  const auto message = test::error_of([] { load_safetensors("/no/such/file"); });
  EXPECT_EQ(message, "safetensors: cannot open /no/such/file: No such file or directory");
  EXPECT_TRUE(test::contains(test::error_of([] { load_safetensors("/tmp"); }), "is not a file"));
}

}  // namespace vitrine
