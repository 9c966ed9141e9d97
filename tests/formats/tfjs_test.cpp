#include "vitrine/formats/tfjs.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"
#include "vitrine/weights/read_tensors.h"

namespace vitrine {
namespace {

template <typename T>
std::string bytes_of_all(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

class Tfjs : public testing::Test {
 protected:
  /// A folder with a model.json of these weights in two shards, the first of `first` bytes.
  void put(const std::string& weights, const std::string& numbers, size_t first,
           const std::string& paths = R"("one.bin", "two.bin")") const {
    write_file_atomically(folder / "one.bin", numbers.substr(0, first));
    write_file_atomically(folder / "two.bin", numbers.substr(first));
    write_file_atomically(folder / "model.json",
                          R"({"modelTopology": {}, "weightsManifest": [{"paths": [)" + paths +
                              R"(], "weights": [)" + weights + "]}]}");
  }
  std::string message() const {
    return test::error_of([&] { load_tfjs(folder.path()); });
  }
  std::string message_for(const std::string& weights, size_t bytes = 8) const {
    put(weights, std::string(bytes, '\0'), bytes / 2);
    return message();
  }

  test::TemporaryFolder folder;
};

}  // namespace

TEST_F(Tfjs, ReadsTensorsThatCrossShards) {
  put(R"({"name": "a/kernel", "shape": [2, 2], "dtype": "float32"},
         {"name": "a/bias", "shape": [2], "dtype": "float32"},
         {"name": "steps", "shape": [], "dtype": "int32"},
         {"name": "mask", "shape": [2], "dtype": "bool"})",
      bytes_of_all<float>({1, 2, 3, 4, 5, 6}) + bytes_of_all<int32_t>({7}) + "\1" + '\0', 10);
  for (const auto& path : {folder.path(), folder / "model.json"}) {
    EXPECT_TRUE(is_tfjs(path));
    const auto file = read_tensors(path);
    ASSERT_EQ(file.tensors.size(), 4);
    EXPECT_TRUE(file.find("a/kernel")->equal(torch::tensor({{1.f, 2.f}, {3.f, 4.f}})));
    EXPECT_TRUE(file.find("a/bias")->equal(torch::tensor({5.f, 6.f})));
    EXPECT_TRUE(file.find("steps")->equal(torch::tensor(7, torch::kInt)));
    EXPECT_TRUE(file.find("mask")->equal(torch::tensor({true, false})));
  }
}

TEST_F(Tfjs, ReadsQuantisedWeights) {
  put(R"({"name": "bytes", "shape": [3], "dtype": "float32",
          "quantization": {"dtype": "uint8", "scale": 0.5, "min": -1}},
         {"name": "words", "shape": [2], "dtype": "float32",
          "quantization": {"dtype": "uint16", "scale": 2, "min": 1}},
         {"name": "halves", "shape": [2], "dtype": "float32",
          "quantization": {"dtype": "float16"}})",
      bytes_of_all<uint8_t>({0, 2, 255}) + bytes_of_all<uint16_t>({1, 65535, 0x3e00, 0xc000}), 4);
  const auto file = load_tfjs(folder.path());
  EXPECT_TRUE(file.find("bytes")->equal(torch::tensor({-1.f, 0.f, 126.5f})));
  EXPECT_TRUE(file.find("words")->equal(torch::tensor({3.f, 131071.f})));
  EXPECT_TRUE(file.find("halves")->equal(torch::tensor({1.5f, -2.f})));
}

TEST_F(Tfjs, RefusesWhatDoesNotFit) {
  const std::string two = R"({"name": "w", "shape": [2], "dtype": "float32"})";
  EXPECT_TRUE(test::contains(message_for(two, 6), "'w' needs 8 bytes, the shards hold 6 more"));
  EXPECT_TRUE(test::contains(message_for(two, 10), "2 bytes of the shards belong to no tensor"));
  EXPECT_TRUE(test::contains(message_for(two + "," + two, 16), "'w' comes twice"));
  EXPECT_TRUE(test::contains(
      message_for(R"({"name": "w", "shape": [4611686018427387903, 2], "dtype": "float32"})"),
      "too large"));
  EXPECT_TRUE(test::contains(message_for(R"({"name": "w", "shape": [-2], "dtype": "float32"})"),
                             "the shape holds -2, expected a size"));
  EXPECT_TRUE(test::contains(message_for(R"({"name": "w", "shape": [2], "dtype": "string"})"),
                             "dtype \"string\", which is not known"));
  EXPECT_TRUE(test::contains(message_for(R"({"name": "w", "shape": [2]})"), "has no 'dtype'"));
  EXPECT_TRUE(test::contains(message_for(R"({"name": "w", "dtype": "float32"})"), "no 'shape'"));
  EXPECT_TRUE(test::contains(message_for(R"({"name": "w", "shape": [8], "dtype": "float32",
                      "quantization": {"dtype": "uint8", "min": 0}})"),
                             "has no 'scale'"));
  EXPECT_TRUE(test::contains(message_for("7"), "has no 'name'"));
}

TEST_F(Tfjs, RefusesFilesElsewhereAndBrokenOnes) {
  const std::string two = R"({"name": "w", "shape": [2], "dtype": "float32"})";
  for (const auto* path : {"\"../one.bin\"", "\"/etc/passwd\"", "\"\"", "3"}) {
    put(two, std::string(8, '\0'), 4, path);
    EXPECT_TRUE(test::contains(message(), "is not the name of a file beside it")) << path;
  }
  put(two, std::string(8, '\0'), 4, R"("three.bin")");
  EXPECT_TRUE(test::contains(message(), "three.bin: No such file"));
  write_file_atomically(folder / "model.json", "{\"weightsManifest\": [");
  EXPECT_TRUE(test::contains(message(), "is not valid JSON"));
  write_file_atomically(folder / "model.json", std::string(1'000'000, '['));
  EXPECT_TRUE(test::contains(message(), "is not valid JSON"));
  write_file_atomically(folder / "model.json", "{\"weightsManifest\": []}");
  EXPECT_TRUE(test::contains(message(), "lists no weights"));
  write_file_atomically(folder / "model.json", "{}");
  EXPECT_TRUE(test::contains(message(), "has no 'weightsManifest'"));
}

}  // namespace vitrine
