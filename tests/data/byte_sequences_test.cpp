#include "vitrine/data/byte_sequences.h"

#include <torch/torch.h>

#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"
#include "vitrine/data/batch.h"
#include "vitrine/data/image_batches.h"

namespace vitrine {
namespace {

/// A text of `size` letters, each two apart from the one before.
std::string letters(int64_t size) {
  std::string text;
  for (int64_t i = 0; i < size; ++i) text += static_cast<char>('a' + 2 * i % 26);
  return text;
}

DataConfig text_config(const fs::path& path) {
  DataConfig config;
  config.dataset = read_dataset("{name: bytes, length: 16}", {"file=" + path.string()});
  config.validation = 0.1;
  return config;
}

}  // namespace

TEST(Bytes, OfAFileAreCutInThreeParts) {
  const test::TemporaryFolder folder;
  const auto text = letters(1000);
  write_file_atomically(folder / "t.txt", text);
  const auto data = open_data(text_config(folder / "t.txt"), /*seed=*/1);
  EXPECT_EQ(data.task, Task::NextToken);
  EXPECT_EQ(data.vocabulary, 256);
  EXPECT_TRUE(data.classes.empty());
  EXPECT_FALSE(data.image_layout.has_value());
  EXPECT_EQ(data.train->size(), 50);
  EXPECT_EQ(data.validation->size(), 6);
  EXPECT_EQ(data.test->size(), 6);
  const auto batch = data.test->load({1}, /*epoch=*/-1);
  EXPECT_TRUE(batch.inputs.equal(batch.targets));
  for (int64_t t = 0; t < 16; ++t)
    EXPECT_EQ(batch.inputs[0][t].item<int64_t>(), text[900 + 16 + t]);
}

TEST(Bytes, OfTrainingCanBeLimited) {
  const test::TemporaryFolder folder;
  write_file_atomically(folder / "t.txt", letters(1000));
  auto config = text_config(folder / "t.txt");
  config.limit = 7;
  EXPECT_EQ(open_data(config, /*seed=*/1).train->size(), 7);
}

TEST(Bytes, AreCutElsewhereInEachEpoch) {
  const test::TemporaryFolder folder;
  write_file_atomically(folder / "t.txt", letters(1000));
  auto config = text_config(folder / "t.txt");
  const auto data = open_data(config, /*seed=*/1);
  const auto first = [&](int64_t epoch) { return data.train->load({0}, epoch).inputs; };
  EXPECT_TRUE(first(3).equal(first(3)));
  int64_t different = 0;
  for (int64_t epoch = 0; epoch < 10; ++epoch) different += !first(epoch).equal(first(epoch + 1));
  EXPECT_GT(different, 5);
}

TEST(Bytes, RefuseAFileThatIsMissingOrTooShort) {
  const test::TemporaryFolder folder;
  const auto message_of = [](const DataConfig& config) {
    return test::error_of([&] { open_data(config, 1); });
  };
  EXPECT_TRUE(test::contains(message_of(text_config("")), "set data.dataset.file"));
  EXPECT_TRUE(test::contains(message_of(text_config(folder / "no.txt")), "no.txt"));
  write_file_atomically(folder / "t.txt", letters(100));
  const auto message = message_of(text_config(folder / "t.txt"));
  EXPECT_TRUE(test::contains(message, "has 100 bytes"));
  EXPECT_TRUE(test::contains(message, "sequences of 16"));
}

}  // namespace vitrine
