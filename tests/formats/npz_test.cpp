#include "vitrine/formats/npz.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>
#include <fstream>

#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"
#include "vitrine/core/archive.h"
#include "vitrine/formats/npy.h"

namespace vitrine {
namespace {

/// A .npy file of version 1 with this header.
std::string npy_file(std::string header, const std::string& data) {
  header += '\n';
  const char length[2] = {static_cast<char>(header.size() & 0xff),
                          static_cast<char>(header.size() >> 8)};
  return std::string("\x93NUMPY\x01\x00", 8) + std::string(length, 2) + header + data;
}

std::string npy_header_of(const std::string& dtype, const std::string& shape,
                          const std::string& fortran = "False") {
  return "{'descr': '" + dtype + "', 'fortran_order': " + fortran + ", 'shape': " + shape + ", }";
}

std::string npy_message(const std::string& bytes) {
  return test::error_of([&] { parse_npy(bytes, "x.npz: 'a.npy'"); });
}

std::string floats(const std::vector<float>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}

bool loads(const fs::path& path, const std::string& bytes) {
  fs::remove(path);  // overwriting would wait for the disk, thousands of times
  std::ofstream(path, std::ios::binary) << bytes;
  try {
    load_npz(path);
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

TEST(Npz, GivesBackEveryDtypeItCanHold) {
  test::TemporaryFolder folder;
  NamedTensors tensors;
  for (const auto dtype :
       {torch::kFloat16, torch::kFloat32, torch::kFloat64, torch::kInt32, torch::kInt64})
    tensors.emplace_back(torch::toString(dtype), torch::arange(6).view({2, 3}).to(dtype));
  tensors.emplace_back("model/h0/q_proj/w:0", torch::randn({4, 6}).t());
  tensors.emplace_back("scalar", torch::tensor(0.1));
  tensors.emplace_back("empty", torch::empty({0, 3}));
  save_npz(folder / "a.npz", tensors);
  const auto loaded = load_npz(folder / "a.npz");
  ASSERT_EQ(loaded.tensors.size(), tensors.size());
  for (const auto& [name, tensor] : tensors) {
    const auto* found = loaded.find(name);
    ASSERT_NE(found, nullptr) << name;
    EXPECT_EQ(found->dtype(), tensor.dtype()) << name;
    EXPECT_TRUE(torch::equal(*found, tensor)) << name;
  }
}

TEST(Npz, RefusesToWriteWhatItCouldNotReadBack) {
  test::TemporaryFolder folder;
  EXPECT_TRUE(test::contains(test::error_of([&] {
                               save_npz(folder / "a.npz", {{"b", torch::ones({2}, torch::kBool)}});
                             }),
                             "a.npz: 'b': a tensor of type Bool cannot be stored"));
  EXPECT_FALSE(fs::exists(folder / "a.npz"));
}

TEST(Npz, ReadsFilesOfNumpyItself) {
  const auto file = load_npz(VITRINE_SOURCE_DIR "/tests/fixtures/openai_sparse_expected.npz");
  ASSERT_NE(file.find("bytes"), nullptr);
  EXPECT_EQ(file.find("bytes")->dtype(), torch::kInt64);
  EXPECT_EQ(file.find("bytes")->sizes(), torch::IntArrayRef({48}));
  ASSERT_NE(file.find("logits"), nullptr);
  EXPECT_EQ(file.find("logits")->sizes(), torch::IntArrayRef({48, 256}));
}

TEST(Npz, GivesShapesWithoutReadingTheNumbers) {
  test::TemporaryFolder folder;
  const auto path = folder / "a.npz";
  const NamedTensors tensors = {{"large", torch::full({70, 1000}, 7.0F)},
                                {"half", torch::ones({2, 3}, torch::kFloat16)}};
  save_npz(path, tensors);
  auto bytes = read_file(path);
  bytes[bytes.size() / 2] ^= 1;  // in the middle of the large one
  write_file_atomically(path, bytes);
  EXPECT_THROW(load_npz(path), Error);
  const auto shapes = load_npz(path, TensorContent::ShapesOnly);
  ASSERT_EQ(shapes.tensors.size(), 2U);
  for (const auto& [name, tensor] : tensors) {
    EXPECT_TRUE(shapes.find(name)->is_meta()) << name;
    EXPECT_EQ(shapes.find(name)->sizes(), tensor.sizes()) << name;
    EXPECT_EQ(shapes.find(name)->dtype(), tensor.dtype()) << name;
  }
}

TEST(Npz, RefusesShapesThatItsSizeCannotHold) {
  test::TemporaryFolder folder;
  for (const auto* shape : {"(9000000000, 9000000000)", "(4000000000,)"}) {
    const auto array = npy_file(npy_header_of("<f4", shape), "");
    write_zip(folder / "a.npz", {{"w.npy", {array}}});
    EXPECT_THROW(load_npz(folder / "a.npz", TensorContent::ShapesOnly), Error) << shape;
  }
}

TEST(Npy, TurnsFortranOrderRound) {
  // As numpy writes asfortranarray([[1, 2, 3], [4, 5, 6]]): column by column.
  const auto data = floats({1, 4, 2, 5, 3, 6});
  const auto matrix = parse_npy(npy_file(npy_header_of("<f4", "(2, 3)", "True"), data), "test");
  EXPECT_TRUE(matrix.is_contiguous());
  EXPECT_TRUE(torch::equal(matrix, torch::tensor({{1., 2., 3.}, {4., 5., 6.}}, torch::kFloat)));
}

TEST(Npy, ReadsHalfPrecision) {
  // 1, -2, 65504 (the largest) and 2^-24 (the smallest).
  const std::string data("\x00\x3c\x00\xc0\xff\x7b\x01\x00", 8);
  const auto half = parse_npy(npy_file(npy_header_of("<f2", "(4,)"), data), "test");
  EXPECT_EQ(half.dtype(), torch::kFloat16);
  EXPECT_TRUE(torch::equal(half.to(torch::kDouble),
                           torch::tensor({1., -2., 65504., std::exp2(-24.)}, torch::kDouble)));
}

TEST(Npy, ReadsBfloat16WhichNumpyCallsRawData) {
  // 1, -2, 3.140625 and the largest: what ml_dtypes.bfloat16 writes through numpy.save.
  const std::string data("\x80\x3f\x00\xc0\x49\x40\x7f\x7f", 8);
  for (const auto* dtype : {"|V2", "<V2"}) {
    const auto numbers = parse_npy(npy_file(npy_header_of(dtype, "(2, 2)"), data), "test");
    EXPECT_EQ(numbers.dtype(), torch::kBFloat16);
    EXPECT_TRUE(
        torch::equal(numbers.to(torch::kDouble),
                     torch::tensor({{1., -2.}, {3.140625, std::exp2(127.) * (2 - std::exp2(-7.))}},
                                   torch::kDouble)));
  }
  EXPECT_TRUE(test::contains(npy_message(npy_file(npy_header_of("|V4", "(2,)"), data)),
                             "dtype '|V4' is not known"));
}

TEST(Npy, ReadsVersionTwoAndHeadersInAnyOrder) {
  const std::string text = "{\"shape\":(1,),'fortran_order':False,'descr':'<f4'}\n";
  const auto bytes = std::string("\x93NUMPY\x02\x00", 8) + static_cast<char>(text.size()) +
                     std::string(3, '\0') + text + floats({2.5});
  EXPECT_EQ(parse_npy(bytes, "test").item<float>(), 2.5);
}

TEST(HostileNpy, RefusesWhatIsNoArray) {
  EXPECT_TRUE(test::contains(npy_message(""), "x.npz: 'a.npy': it does not begin as an array"));
  EXPECT_TRUE(test::contains(npy_message("\x93NUMPZ.........."), "does not begin"));
  EXPECT_TRUE(test::contains(npy_message("\x93NUMPY"), "truncated in its header"));
  EXPECT_TRUE(test::contains(npy_message(std::string("\x93NUMPY\x07\x00\x00\x00", 10)),
                             "version 7 of the format is not known"));
  EXPECT_TRUE(test::contains(npy_message("\x93NUMPY\x02\x01\xff\xff\xff\xff"), "truncated"));
}

TEST(HostileNpy, RefusesHeadersThatAreNotOfNumpy) {
  const auto message = [](const std::string& header) {
    return npy_message(npy_file(header, std::string(4, '\0')));
  };
  EXPECT_TRUE(test::contains(message(""), "the header is not one of numpy"));
  EXPECT_TRUE(test::contains(message("{}"), "the header is not one of numpy"));
  EXPECT_TRUE(test::contains(message("{'descr': '<f4', 'shape': (1,)}"), "not one of numpy"));
  EXPECT_TRUE(test::contains(message("{'descr': '<f4"), "not one of numpy"));
  EXPECT_TRUE(test::contains(message("{'colour': 'red'}"), "an unknown key 'colour'"));
  EXPECT_TRUE(test::contains(message(npy_header_of("<f4", "(1,)", "Maybe")), "at 'Maybe"));
  EXPECT_TRUE(test::contains(message(npy_header_of("<f4", "(1,)") + " x"), "not one of numpy"));
  EXPECT_TRUE(test::contains(message("{'descr': [('x', '<f4')], "), "not one of numpy"));
}

TEST(HostileNpy, RefusesUnknownDtypesWithTheRemedy) {
  for (const auto* dtype : {">f4", "<c8", "|O", "<U12", "<f16"}) {
    const auto message = npy_message(npy_file(npy_header_of(dtype, "(1,)"), "1234"));
    EXPECT_TRUE(test::contains(message, fmt::format("dtype '{}' is not known; convert", dtype)));
  }
}

TEST(HostileNpy, RefusesShapesThatDoNotFitTheDataBeforeItAllocates) {
  const auto message = [](const std::string& shape) {
    return npy_message(npy_file(npy_header_of("<f4", shape), "12345678"));
  };
  EXPECT_TRUE(test::contains(message("(3,)"), "<f4 of shape (3) does not fit its 8 bytes"));
  EXPECT_TRUE(test::contains(message("(1,)"), "does not fit"));
  EXPECT_TRUE(test::contains(message("(0, 4611686018427387904)"), "does not fit"));
  EXPECT_TRUE(test::contains(message("(4294967296, 4294967296)"), "does not fit"));
  EXPECT_TRUE(test::contains(message("(9223372036854775807,)"), "does not fit"));
  EXPECT_TRUE(test::contains(message("(99999999999999999999,)"), "expected a size"));
  EXPECT_TRUE(test::contains(message("(-2,)"), "the shape holds '-2,)"));
  EXPECT_TRUE(test::contains(message("(1.5,)"), "expected a size"));
  std::string ones = "(1";
  for (int i = 0; i < 100; ++i) ones += ", 1";
  EXPECT_TRUE(test::contains(message(ones + ")"), "more than 64 dimensions"));
}

TEST(HostileNpz, RefusesEveryTruncation) {
  test::TemporaryFolder folder;
  save_npz(folder / "a.npz", {{"a", torch::arange(3)}, {"b/c:0", torch::ones({2, 1})}});
  const auto whole = read_file(folder / "a.npz");
  for (size_t length = 0; length < whole.size(); ++length)
    EXPECT_FALSE(loads(folder / "cut.npz", whole.substr(0, length))) << length;
}

TEST(HostileNpz, SurvivesEveryFlippedBitAndSeesThoseInTheData) {
  test::TemporaryFolder folder;
  const auto values = torch::full({4}, 0x5a5a5a5a5a5a5a5a, torch::kInt64);
  save_npz(folder / "a.npz", {{"a", values}});
  const auto whole = read_file(folder / "a.npz");
  const auto data = whole.find(std::string(32, '\x5a'));
  ASSERT_NE(data, whole.npos);
  for (size_t bit = 0; bit < 8 * whole.size(); ++bit) {
    auto flipped = whole;
    flipped[bit / 8] ^= static_cast<char>(1 << bit % 8);
    const bool loaded = loads(folder / "flipped.npz", flipped);
    const bool in_data = bit / 8 >= data && bit / 8 < data + 32;
    EXPECT_FALSE(loaded && in_data) << "bit " << bit;
  }
}

TEST(HostileNpz, NamesFileAndArray) {
  test::TemporaryFolder folder;
  const auto message = [&](const std::vector<ArchiveFile>& files) {
    write_zip(folder / "a.npz", files);
    return test::error_of([&] { load_npz(folder / "a.npz"); });
  };
  const auto good = npy_file(npy_header_of("<f4", "(1,)"), "1234");
  EXPECT_TRUE(
      test::contains(message({{"w:0.npy", {"no"}}}), "a.npz: 'w:0.npy': it does not begin"));
  EXPECT_TRUE(
      test::contains(message({{"notes.txt", {"hm"}}}), "a.npz: 'notes.txt' is not an array"));
  EXPECT_TRUE(
      test::contains(message({{"w.npy", {good}}, {"w.npy", {good}}}), "'w.npy' comes twice"));
}

TEST(HostileNpz, RefusesOtherFiles) {
  test::TemporaryFolder folder;
  const auto message = [&](const fs::path& path) {
    return test::error_of([&] { load_npz(path); });
  };
  EXPECT_TRUE(test::contains(message(folder / "none.npz"), "none.npz is not a file"));
  EXPECT_TRUE(test::contains(message(folder.path()), "is not a file"));
  write_file_atomically(folder / "text.npz", "just text");
  EXPECT_TRUE(test::contains(message(folder / "text.npz"), "text.npz is not a zip archive"));
  write_file_atomically(folder / "empty.npz", "");
  EXPECT_TRUE(test::contains(message(folder / "empty.npz"), "not a zip archive"));
}

}  // namespace vitrine
