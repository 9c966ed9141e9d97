// Pickles and archives that were made by hand to do harm.
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cstring>
#include <fstream>

#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"
#include "vitrine/core/archive.h"
#include "vitrine/formats/pth.h"

namespace vitrine {
namespace {

using namespace std::string_literals;

constexpr const char* kBegin = "\x80\x02";

std::string text(const std::string& value) {
  const auto length = static_cast<uint32_t>(value.size());
  return "X" + std::string(reinterpret_cast<const char*>(&length), 4) + value;
}

std::string whole(int64_t value) {
  return "\x8a\x08" + std::string(reinterpret_cast<const char*>(&value), 8);
}

std::string numbers(const std::vector<int64_t>& values) {
  std::string result = "(";
  for (const auto value : values) result += whole(value);
  return result + "t";
}

std::string named(const std::string& module, const std::string& name) {
  return "c" + module + "\n" + name + "\n";
}

/// A tensor over the storage `key`.
struct HandMade {
  std::string key = "0";
  int64_t count = 4;
  std::string type = "FloatStorage";
  int64_t offset = 0;
  std::vector<int64_t> shape = {2, 2}, strides = {2, 1};

  std::string pickle() const {
    return named("torch._utils", "_rebuild_tensor_v2") + "((" + text("storage") +
           named("torch", type) + text(key) + text("cpu") + whole(count) + "tQ" + whole(offset) +
           numbers(shape) + numbers(strides) + "\x89" + named("collections", "OrderedDict") +
           ")RtR";
  }
};

class HostilePth : public testing::Test {
 protected:
  /// The error for a zip archive of this pickle and one storage of 16 bytes.
  std::string message_for_pickle(const std::string& pickle) const {
    put_zip(pickle);
    return message();
  }
  /// The same for a state dict with one item "w".
  std::string message_for_item(const std::string& pickle) const {
    return message_for_pickle(state_dict(pickle));
  }
  std::string message_for(const HandMade& tensor) const {
    return message_for_item(tensor.pickle());
  }
  std::string message() const {
    return test::error_of([&] { load_pth(path); });
  }

  static std::string state_dict(const std::string& item) {
    return kBegin + "}"s + text("w") + item + "s.";
  }
  void put_zip(const std::string& pickle, size_t storage_bytes = 16) const {
    const std::string numbers(storage_bytes, '\0');
    write_zip(path, {{"a/data.pkl", {pickle}}, {"a/data/0", {numbers}}});
  }
  void put(const std::string& bytes) const {
    fs::remove(path);  // overwriting would wait for the disk, thousands of times
    std::ofstream(path, std::ios::binary) << bytes;
  }

  test::TemporaryFolder folder;
  const fs::path path = folder / "file.pth";
};

std::string fixture_bytes(const std::string& name) {
  return read_file(fs::path(VITRINE_SOURCE_DIR "/tests/fixtures/pth") / name);
}

/// `bytes` as they stand in a file, little-endian.
template <typename T>
std::string raw(T value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof value);
}

}  // namespace

TEST_F(HostilePth, TheHandMadeOneIsSound) {
  put_zip(state_dict(HandMade().pickle()));
  EXPECT_TRUE(load_pth(path).find("w")->equal(torch::zeros({2, 2})));
}

TEST_F(HostilePth, ShapesAreReadWithoutTheNumbers) {
  put_zip(state_dict(HandMade().pickle()));
  auto bytes = read_file(path);
  const auto at = bytes.find(std::string(16, '\0'), bytes.find("a/data/0"));
  bytes[bytes.find_first_not_of('\0', at) - 1] = 1;
  put(bytes);
  EXPECT_TRUE(test::contains(message(), "'a/data/0' is damaged"));
  EXPECT_EQ(load_pth(path, TensorContent::ShapesOnly).find("w")->sizes(),
            torch::IntArrayRef({2, 2}));
}

TEST_F(HostilePth, RefusesCodeByName) {
  const auto shell = named("os", "system") + "(" + text("echo harm") + "tR";
  EXPECT_TRUE(test::contains(message_for_item(shell), "holds code: os.system"));
  // Wherever it stands, and however it is written.
  const auto beside = kBegin + "}"s + text("w") + HandMade().pickle() + "s" + text("x") + shell;
  EXPECT_TRUE(test::contains(message_for_pickle(beside + "s."), "holds code: os.system"));
  const auto by_stack = text("builtins") + text("eval") + "\x93(" + text("1") + "tR";
  EXPECT_TRUE(test::contains(message_for_item(by_stack), "holds code: builtins.eval"));
  const auto old = "(" + text("echo harm") + "iposix\nsystem\n";
  EXPECT_TRUE(test::contains(message_for_item(old), "holds code: posix.system"));
}

TEST_F(HostilePth, LeavesOutUnknownObjectsThatAreNotWeights) {
  const auto space = named("argparse", "Namespace") + ")\x81}" + text("lr") + "K\1sb";
  const auto wrapped = kBegin + "}("s + text("model") + "}" + text("w") + HandMade().pickle() +
                       "s" + text("args") + space + text("epoch") + "K\3u.";
  put_zip(wrapped);
  EXPECT_EQ(load_pth(path).tensors.size(), 1);
  EXPECT_TRUE(test::contains(message_for_item(named("some.where", "Weights") + ")R"),
                             "'w' is a some.where.Weights, not a tensor"));
}

TEST_F(HostilePth, RefusesTensorsThatDoNotFitTheirStorage) {
  EXPECT_TRUE(test::contains(message_for({.count = 5}),
                             "5 numbers of FloatStorage do not fit the "
                             "16 bytes of storage '0'"));
  EXPECT_TRUE(test::contains(message_for({.count = int64_t{1} << 62}), "do not fit the 16 bytes"));
  EXPECT_TRUE(test::contains(message_for({.type = "QInt8Storage"}), "stored as QInt8Storage"));
  EXPECT_TRUE(test::contains(message_for({.key = "1"}), "lacks 'a/data/1'"));
  EXPECT_TRUE(test::contains(message_for({.key = "../../a"}), "lacks 'a/data/../../a'"));
  EXPECT_TRUE(test::contains(message_for({.offset = 1}), "does not fit a storage of 4 numbers"));
  EXPECT_TRUE(test::contains(message_for({.offset = -1}), "the offset of a tensor is not a size"));
  EXPECT_TRUE(test::contains(message_for({.shape = {2, -2}}), "shape of a tensor"));
  EXPECT_TRUE(test::contains(message_for({.strides = {2, -1}}), "strides of a tensor"));
  EXPECT_TRUE(test::contains(message_for({.strides = {3, 1}}), "does not fit a storage"));
  EXPECT_TRUE(test::contains(message_for({.strides = {int64_t{1} << 62, int64_t{1} << 62}}),
                             "does not fit a storage"));
  EXPECT_TRUE(test::contains(message_for({.shape = {int64_t{1} << 40, int64_t{1} << 40}}),
                             "does not fit a storage"));
  EXPECT_TRUE(test::contains(message_for({.shape = {2}}), "1 sizes and 2 strides"));
  // One number a million times: torch would allow it, and copying it would take the memory.
  EXPECT_TRUE(test::contains(message_for({.shape = {1000, 1000}, .strides = {0, 0}}),
                             "does not fit a storage"));
  EXPECT_TRUE(test::contains(
      message_for({.shape = std::vector<int64_t>(65, 1), .strides = std::vector<int64_t>(65, 1)}),
      "65 dimensions"));
}

TEST_F(HostilePth, RefusesTensorsThatOverlapTooOften) {
  std::string items;
  for (int i = 0; i < 100; ++i) items += text("w" + std::to_string(i)) + "h\0"s;
  const HandMade large{.count = 1000, .shape = {1000}, .strides = {1}};
  put_zip(kBegin + "}"s + large.pickle() + "q\0"s + "0(" + items + "u.", 4000);
  EXPECT_TRUE(test::contains(message(), "overlap so often"));
}

TEST_F(HostilePth, RefusesBombs) {
  // A list of ten of the list before it, thirty times: 10^30 values if anybody walked them.
  std::string laughs = kBegin + "]q\0"s;
  for (int i = 0; i < 30; ++i) {
    laughs += "](";
    for (int j = 0; j < 10; ++j) laughs += "h" + raw(static_cast<uint8_t>(i));
    laughs += "eq" + raw(static_cast<uint8_t>(i + 1));
  }
  EXPECT_TRUE(test::contains(message_for_pickle(laughs + "."), "no dictionary of tensors"));
  // Deep nesting: neither reading nor freeing recurses.
  EXPECT_TRUE(test::contains(
      message_for_pickle(kBegin + std::string(20'000, ']') + std::string(19'999, 'a') + "."),
      "no dictionary of tensors"));
  // A dictionary that contains itself.
  EXPECT_TRUE(test::contains(message_for_pickle(kBegin + "}q\0"s + text("model") + "h\0s."s),
                             "no tensors by name"));
  // More values than the file could need.
  EXPECT_TRUE(test::contains(message_for_pickle(kBegin + std::string(1'000'000, 'N') + "."),
                             "far more values than a file of this size can need"));
  std::string calls = kBegin + named("some", "Thing") + "q\0("s + std::string(5000, 'N') + "tq\1";
  for (int i = 0; i < 5000; ++i) calls += "h\0h\1R"s;
  EXPECT_TRUE(test::contains(message_for_pickle(calls + "."), "far more values"));
}

TEST_F(HostilePth, RefusesBrokenPickles) {
  EXPECT_TRUE(test::contains(message_for_pickle(kBegin), "cut short"));
  EXPECT_TRUE(test::contains(message_for_pickle("X\xff\xff\xff\xff"s), "4294967295 bytes are"));
  EXPECT_TRUE(
      test::contains(message_for_pickle("\x8d" + raw(~uint64_t{0})), "bytes are announced"));
  EXPECT_TRUE(test::contains(message_for_pickle("."), "takes a value too many"));
  EXPECT_TRUE(test::contains(message_for_pickle("(0."), "takes a value too many"));
  EXPECT_TRUE(test::contains(message_for_pickle("Nt."), "without a mark"));
  EXPECT_TRUE(test::contains(message_for_pickle("h\7."), "recalls value 7"));
  EXPECT_TRUE(
      test::contains(message_for_pickle("j\xff\xff\xff\xff."s), "recalls value 4294967295"));
  EXPECT_TRUE(test::contains(message_for_pickle("NNs."), "takes a value too many"));
  EXPECT_TRUE(test::contains(message_for_pickle("NNNs."), "not a dictionary"));
  EXPECT_TRUE(test::contains(message_for_pickle("}(Nu."), "a key without a value"));
  EXPECT_TRUE(test::contains(message_for_pickle("N)R."), "not a class or function"));
  EXPECT_TRUE(test::contains(message_for_pickle("NQ."), "is not a list or tuple"));
  EXPECT_TRUE(test::contains(message_for_pickle(")Q."), "is not a storage of numbers"));
  EXPECT_TRUE(test::contains(message_for_pickle("\x80\x09."), "protocol 9"));
  EXPECT_TRUE(test::contains(message_for_pickle("\x82\1."), "instruction 0x82"));
  EXPECT_TRUE(test::contains(message_for_pickle("N."), "no dictionary of tensors"));
  EXPECT_TRUE(test::contains(message_for_pickle("}."), "no tensors by name"));
}

TEST_F(HostilePth, RefusesEveryTruncation) {
  for (const auto* name : {"zip.pth", "legacy.pth"}) {
    const auto bytes = fixture_bytes(name);
    for (size_t length = 0; length < bytes.size(); ++length) {
      put(bytes.substr(0, length));
      EXPECT_THROW(load_pth(path), Error) << name << " of " << length << " bytes";
    }
  }
}

TEST_F(HostilePth, SurvivesEveryFlippedByte) {
  for (const auto* name : {"zip.pth", "legacy.pth"}) {
    const auto bytes = fixture_bytes(name);
    for (size_t at = 0; at < bytes.size(); ++at) {
      auto flipped = bytes;
      flipped[at] = static_cast<char>(flipped[at] ^ 0xff);
      put(flipped);
      try {
        load_pth(path);
      } catch (const Error&) {
      }
    }
  }
}

TEST_F(HostilePth, RefusesDamagedNumbers) {
  auto bytes = fixture_bytes("zip.pth");
  const auto at = bytes.find(raw(1.5f) + raw(2.5f));
  ASSERT_NE(at, bytes.npos);
  bytes[at] ^= 1;
  put(bytes);
  EXPECT_TRUE(test::contains(message(), "'zip/data/0' is damaged: its CRC-32"));
}

TEST_F(HostilePth, RefusesArchivesThatPromiseTooMuch) {
  put_zip(state_dict(HandMade().pickle()));
  const auto whole_file = read_file(path);
  const auto listed = whole_file.rfind("PK\1\2");  // the entry of a/data/0
  const auto with = [&](size_t at, const std::string& value) {
    auto bytes = whole_file;
    put(bytes.replace(listed + at, value.size(), value));
    return message();
  };
  EXPECT_TRUE(test::contains(with(10, raw(uint16_t{8})), "'a/data/0' is compressed"));
  EXPECT_TRUE(test::contains(with(24, raw(uint32_t{1} << 30)), "is compressed (16 to 1073741824"));
  EXPECT_TRUE(test::contains(with(20, raw(uint32_t{1} << 30) + raw(uint32_t{1} << 30)),
                             "'a/data/0' of 1073741824 bytes lies outside"));
  EXPECT_TRUE(test::contains(with(8, raw(uint16_t{1})), "'a/data/0' is encrypted"));
  EXPECT_TRUE(test::contains(with(42, raw(~uint32_t{0} - 1)), "lies outside"));
  EXPECT_TRUE(test::contains(with(0, "XXXX"), "no table of contents"));
  // The same bytes under two names, as in archives that unpack to terabytes.
  const auto first = raw(uint32_t{0});
  EXPECT_TRUE(test::contains(with(42, first), "overlap"));
}

TEST_F(HostilePth, RefusesOtherFiles) {
  write_zip(path, {{"a.npy", {"x"}}});
  EXPECT_TRUE(test::contains(message(), "zip archive without data.pkl"));
  put("just text");
  EXPECT_TRUE(test::contains(message(), "does not begin as a file of torch.save does"));
  put("");
  EXPECT_TRUE(test::contains(message(), "does not begin"));
}

}  // namespace vitrine
