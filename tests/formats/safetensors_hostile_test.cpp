#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cstring>
#include <fstream>

#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"
#include "vitrine/formats/safetensors.h"

namespace vitrine {
namespace {

class HostileSafetensors : public testing::Test {
 protected:
  void put(const std::string& bytes) const {
    fs::remove(path);  // overwriting would wait for the disk, thousands of times
    std::ofstream(path, std::ios::binary) << bytes;
  }

  /// The error for a foreign file of this header and this many bytes of data.
  std::string message_for(const std::string& json, size_t data = 0) const {
    const uint64_t length = json.size();
    put(std::string(reinterpret_cast<const char*>(&length), 8) + json + std::string(data, 'd'));
    return test::error_of([&] { load_safetensors(path); });
  }

  /// The error for a file with the one tensor "w".
  std::string message_for_tensor(const std::string& entry, size_t data = 0) const {
    return message_for("{\"w\":" + entry + "}", data);
  }

  void expect_refused(const std::string& bytes, const std::string& why) const {
    put(bytes);
    try {
      load_safetensors(path);
      ADD_FAILURE() << "loaded with " << why;
    } catch (const Error&) {
    }
  }

  std::string small_file() const {
    save_safetensors(path, {{{"a", torch::arange(3)}, {"b", torch::ones({2, 1}, torch::kBool)}},
                            {{"model", "vit_tiny"}}});
    return read_file(path);
  }

  test::TemporaryFolder folder;
  const fs::path path = folder / "file.safetensors";
};

}  // namespace

TEST_F(HostileSafetensors, RefusesEveryTruncation) {
  const auto whole = small_file();
  for (size_t length = 0; length < whole.size(); ++length)
    expect_refused(whole.substr(0, length), fmt::format("{} bytes", length));
  expect_refused(whole + '\0', "one byte more");
}

TEST_F(HostileSafetensors, RefusesEveryFlippedBit) {
  const auto whole = small_file();
  for (size_t bit = 0; bit < 8 * whole.size(); ++bit) {
    auto flipped = whole;
    flipped[bit / 8] ^= static_cast<char>(1 << bit % 8);
    expect_refused(flipped, fmt::format("bit {} of byte {} flipped", bit % 8, bit / 8));
  }
}

TEST_F(HostileSafetensors, SaysThatDamagedDataDoNotMatchTheChecksum) {
  auto bytes = small_file();
  bytes.back() ^= 1;
  put(bytes);
  const auto message = test::error_of([&] { load_safetensors(path); });
  EXPECT_TRUE(test::contains(message, path.string() + ": checksum "));
  EXPECT_TRUE(test::contains(message, "does not match"));
  EXPECT_TRUE(test::contains(message, "the file is damaged"));
}

TEST_F(HostileSafetensors, SurvivesEveryFlipAndTruncationOfAForeignFile) {
  const auto whole = read_file(VITRINE_SOURCE_DIR "/tests/fixtures/foreign.safetensors");
  const auto load = [&](const std::string& bytes) {
    put(bytes);
    try {
      load_safetensors(path);
      return true;
    } catch (const Error&) {
      return false;
    }
  };
  for (size_t length = 0; length < whole.size(); ++length)
    EXPECT_FALSE(load(whole.substr(0, length))) << length;
  int64_t loaded = 0;
  for (size_t bit = 0; bit < 8 * whole.size(); ++bit) {
    auto flipped = whole;
    flipped[bit / 8] ^= static_cast<char>(1 << bit % 8);
    loaded += load(flipped);
  }
  EXPECT_GT(loaded, 0) << "flips in the data of a file without checksum go unseen";
}

TEST_F(HostileSafetensors, MakesTruthsOfBytesOtherThanZeroAndOne) {
  const std::string json = R"({"w":{"dtype":"BOOL","shape":[2],"data_offsets":[0,2]}})";
  const uint64_t length = json.size();
  put(std::string(reinterpret_cast<const char*>(&length), 8) + json + std::string("\x02\0", 2));
  EXPECT_TRUE(torch::equal(*load_safetensors(path).find("w"), torch::tensor({true, false})));
}

TEST_F(HostileSafetensors, SaysHowMuchOfATruncatedFileIsThere) {
  const auto message =
      message_for_tensor(R"({"dtype":"F32","shape":[100],"data_offsets":[0,400]})", 50);
  EXPECT_TRUE(
      test::contains(message, path.string() + ": truncated: 116 of 466 bytes; use an earlier"));
  put("1234");
  EXPECT_TRUE(test::contains(test::error_of([&] { load_safetensors(path); }),
                             "truncated: 4 of at least 8 bytes"));
}

TEST_F(HostileSafetensors, RefusesAnAbsurdHeaderLength) {
  put(std::string(100, '\xff'));
  EXPECT_TRUE(test::contains(test::error_of([&] { load_safetensors(path); }),
                             "not a safetensors file: its header would have 18446744073709551615"));
}

TEST_F(HostileSafetensors, RefusesHeadersThatAreNotSoundJson) {
  EXPECT_TRUE(test::contains(message_for(""), "does not begin with '{'"));
  EXPECT_TRUE(test::contains(message_for("[]"), "does not begin with '{'"));
  EXPECT_TRUE(test::contains(message_for("{\"a\":"), "not valid JSON"));
  EXPECT_TRUE(test::contains(message_for("{\"a\xff\":1}"), "not valid JSON"));
  EXPECT_TRUE(test::contains(message_for("{\"a\":1e999}"), "not valid JSON"));
  EXPECT_TRUE(test::contains(message_for("{} x"), "not valid JSON"));
  EXPECT_TRUE(test::contains(message_for("{\"a\":" + std::string(1000000, '[')), "nested deeper"));
  EXPECT_LT(message_for("{\"" + std::string(1000000, 'x')).size(), 500);
}

TEST_F(HostileSafetensors, RefusesNamesThatComeTwice) {
  const std::string entry = R"({"dtype":"U8","shape":[0],"data_offsets":[0,0]})";
  EXPECT_TRUE(
      test::contains(message_for("{\"a\":" + entry + ",\"a\":" + entry + "}"), "names 'a' twice"));
  EXPECT_TRUE(test::contains(message_for(R"({"__metadata__":{"k":"1","k":"2"}})"), "'k' twice"));
  EXPECT_TRUE(test::contains(
      message_for_tensor(R"({"dtype":"U8","dtype":"I8","shape":[0],"data_offsets":[0,0]})"),
      "'dtype' twice"));
}

TEST_F(HostileSafetensors, RefusesMetadataThatAreNotStrings) {
  EXPECT_TRUE(test::contains(message_for(R"({"__metadata__":[]})"), "not an object"));
  EXPECT_TRUE(test::contains(message_for(R"({"__metadata__":{"k":1}})"), "'k' is not a string"));
}

TEST_F(HostileSafetensors, RefusesIncompleteEntries) {
  EXPECT_TRUE(test::contains(message_for_tensor("1"), "tensor 'w' has no dtype, shape"));
  EXPECT_TRUE(test::contains(message_for_tensor("{}"), "tensor 'w' has no dtype"));
  EXPECT_TRUE(test::contains(message_for_tensor(R"({"dtype":"U8"})"), "no list 'shape'"));
  EXPECT_TRUE(
      test::contains(message_for_tensor(R"({"dtype":"U8","shape":[]})"), "no list 'data_offsets'"));
  EXPECT_TRUE(test::contains(
      message_for_tensor(R"({"dtype":"F8_E4M3","shape":[1],"data_offsets":[0,1]})", 1),
      "dtype 'F8_E4M3', which is not known; convert it"));
}

TEST_F(HostileSafetensors, RefusesNegativeFractionalAndOverflowingShapes) {
  const auto message_for_shape = [&](const std::string& shape) {
    return message_for_tensor(R"({"dtype":"F32","shape":[)" + shape + R"(],"data_offsets":[0,4]})",
                              4);
  };
  EXPECT_TRUE(test::contains(message_for_shape("-1"), "shape holds -1, expected a size"));
  EXPECT_TRUE(test::contains(message_for_shape("1.5"), "expected a size"));
  EXPECT_TRUE(test::contains(message_for_shape("\"1\""), "expected a size"));
  EXPECT_TRUE(test::contains(message_for_shape("18446744073709551615"), "expected a size"));
  EXPECT_TRUE(test::contains(message_for_shape("4294967296,4294967296"), "too large"));
  EXPECT_TRUE(test::contains(message_for_shape("0,4611686018427387904"), "too large"));
  EXPECT_TRUE(test::contains(message_for_shape("9223372036854775807"), "too large"));
  std::string ones = "1";
  for (int i = 0; i < 64; ++i) ones += ",1";
  EXPECT_TRUE(test::contains(message_for_shape(ones), "65 dimensions"));
  for (int i = 0; i < 2000; ++i) ones += ",1";
  EXPECT_TRUE(test::contains(message_for_shape(ones), "a list of more than 1024 numbers"));
}

TEST_F(HostileSafetensors, RefusesOffsetsThatDoNotFit) {
  const auto message_for_offsets = [&](const std::string& offsets) {
    return message_for_tensor(R"({"dtype":"I16","shape":[2],"data_offsets":[)" + offsets + "]}", 8);
  };
  EXPECT_TRUE(test::contains(message_for_offsets("0,5"), "span 5 bytes, but I16 [2] needs 4"));
  EXPECT_TRUE(test::contains(message_for_offsets("4,0"), "not a begin and an end"));
  EXPECT_TRUE(test::contains(message_for_offsets("4"), "not a begin and an end"));
  EXPECT_TRUE(test::contains(message_for_offsets("-4,0"), "expected a size"));
  EXPECT_TRUE(test::contains(message_for_offsets("0,4"), "4 bytes follow the last tensor"));
  EXPECT_TRUE(test::contains(message_for_offsets("4,8"), "begins at byte 4"));
  EXPECT_TRUE(test::contains(message_for_offsets("9223372036854775803,9223372036854775807"),
                             "begins at byte 9223372036854775803"));
}

TEST_F(HostileSafetensors, RefusesTensorsThatOverlap) {
  const auto message = message_for(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)"
                                   R"("b":{"dtype":"U8","shape":[4],"data_offsets":[2,6]}})",
                                   6);
  EXPECT_TRUE(test::contains(
      message, "tensor 'b' begins at byte 2 of the data, the one before it ends at 4"));
}

}  // namespace vitrine
