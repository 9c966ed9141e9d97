#include "vitrine/weights/published.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/support/command.h"
#include "tests/support/errors.h"
#include "tests/support/file_server.h"
#include "tests/support/temporary_folder.h"
#include "vitrine/data/checksum.h"

namespace vitrine {
namespace {

constexpr size_t kAll = std::string::npos;

std::string many_bytes(size_t count, char salt = 0) {
  std::string bytes(count, '\0');
  for (size_t i = 0; i < count; ++i) bytes[i] = static_cast<char>((i * i + i / 7) ^ salt);
  return bytes;
}

class PublishedFetch : public testing::Test {
 protected:
  PublishedFetch() {
    setenv("no_proxy", "127.0.0.1", 1);
    weights.address = server.url("weights-12345678.pth");
    weights.sha256 = sha256(content).substr(0, 8);
  }
  FetchedWeights fetch(const std::string& from = "") const {
    return fetch_weights("test", weights, folder / "to", from);
  }
  std::string message(const std::string& from = "") const {
    return test::error_of([&] { fetch(from); });
  }

  const test::TemporaryFolder folder;
  const fs::path stored = folder / "to" / "weights-12345678.pth";
  const fs::path partial = folder / "to" / "weights-12345678.pth.part";
  const std::string content = many_bytes(300'000);
  test::FileServer server{content, kAll};
  PublishedWeights weights;
};

}  // namespace

TEST_F(PublishedFetch, StoresTheVerifiedFile) {
  const auto fetched = fetch();
  EXPECT_EQ(fetched.path, stored);
  EXPECT_EQ(read_file(stored), content);
  EXPECT_TRUE(test::contains(fetched.done, "checksum verified"));
  EXPECT_TRUE(test::contains(fetch().done, "is there already"));
  EXPECT_EQ(server.begins(), std::vector<size_t>{0});
  EXPECT_FALSE(fs::exists(partial));
  EXPECT_FALSE(fs::exists(partial.string() + ".version"));
}

TEST_F(PublishedFetch, GoesOnWhereTheConnectionBroke) {
  server.set_drop_after(120'000);
  fetch();
  EXPECT_EQ(read_file(stored), content);
  EXPECT_EQ(server.begins(), (std::vector<size_t>{0, 120'000, 240'000}));
}

TEST_F(PublishedFetch, GoesOnInALaterRun) {
  server.set_drop_after(100'000);
  make_folder(folder / "to");
  write_file_atomically(partial, content.substr(0, 100'000));
  write_file_atomically(partial.string() + ".version", "\"1\"");
  fetch();
  EXPECT_EQ(read_file(stored), content);
  EXPECT_EQ(server.begins(), (std::vector<size_t>{100'000, 200'000}));
}

TEST_F(PublishedFetch, StartsAgainIfTheFileHasChanged) {
  make_folder(folder / "to");
  write_file_atomically(partial, many_bytes(100'000, 'x'));
  write_file_atomically(partial.string() + ".version", "\"0\"");
  fetch();
  EXPECT_EQ(read_file(stored), content);
  EXPECT_EQ(server.begins().back(), 0);
  // Bytes of an unknown version are worth nothing.
  fs::remove(stored);
  write_file_atomically(partial, many_bytes(100'000, 'x'));
  fetch();
  EXPECT_EQ(read_file(stored), content);
}

TEST_F(PublishedFetch, StoresNothingThatIsNotThePublishedFile) {
  server.set_content(many_bytes(300'000, 'y'), "\"2\"");
  EXPECT_TRUE(test::contains(message(), "is damaged or another file: its SHA-256 sum is"));
  EXPECT_FALSE(fs::exists(stored));
  EXPECT_FALSE(fs::exists(partial));
}

TEST_F(PublishedFetch, GivesUpWhereNothingArrives) {
  server.set_drop_after(0);
  const auto nothing = message();
  EXPECT_TRUE(test::contains(nothing, "download: " + weights.address));
  EXPECT_TRUE(test::contains(nothing, "vitrine weights fetch test --from FILE_OR_FOLDER"));
  weights.address = "http://127.0.0.1:9/weights-12345678.pth";
  EXPECT_TRUE(test::contains(message(), "connect"));
}

TEST_F(PublishedFetch, TakesAMirrorOrALocalCopy) {
  weights.address = "https://unreachable.invalid/weights-12345678.pth";
  fetch(server.url(""));
  EXPECT_EQ(read_file(stored), content);
  fs::remove(stored);
  write_file_atomically(folder / "weights-12345678.pth", content);
  fetch(folder.path().string());
  EXPECT_EQ(read_file(stored), content);
  fs::remove(stored);
  write_file_atomically(folder / "weights-12345678.pth", content + "x");
  EXPECT_TRUE(test::contains(message((folder / "weights-12345678.pth").string()), "is damaged"));
  EXPECT_TRUE(test::contains(message("/no/such"), "/no/such does not exist"));
}

TEST(PublishedWeights, AreListedWithAllThatIsKnown) {
  int64_t summed = 0;
  for (const auto& [name, w] : published_weights()) {
    EXPECT_FALSE(w.model.empty() || w.description.empty() || w.licence.empty()) << name;
    EXPECT_GT(w.megabytes, 0) << name;
    EXPECT_TRUE(w.is_package() || w.address.starts_with("https://")) << name;
    EXPECT_TRUE(w.sha256.empty() || w.sha256.size() == 8) << name << " " << w.sha256;
    EXPECT_EQ(w.sha256.find_first_not_of("0123456789abcdef"), kAll) << name;
    EXPECT_TRUE(w.address.find(w.sha256) != kAll) << name;
    EXPECT_EQ(w.top1 == 0, name.ends_with("-in21k")) << name;
    summed += !w.sha256.empty();
  }
  EXPECT_EQ(summed, 25);
  EXPECT_EQ(published_weights().get("r50_vit_b16-in1k").file_name("x"), "R50+ViT-B_16.npz");
  EXPECT_EQ(published_weights().get("resnet50-imagenet").file_name("x"), "x");
}

TEST(WeightsCommand, ListsAndDescribes) {
  const auto list = test::run_command({"weights", "list"});
  EXPECT_EQ(list.code, 0);
  for (const auto& name : published_weights().names())
    EXPECT_TRUE(test::contains(list.out, "\n" + name + " "));
  const auto some = test::run_command({"weights", "list", "resnet", "--json"});
  EXPECT_TRUE(test::contains(some.out, R"("name":"resnet50-tv","description":"ResNet-50 of)"));
  EXPECT_EQ(some.out.find("vit_b16"), kAll);
  const auto info = test::run_command({"weights", "info", "resnet18-tv"});
  EXPECT_TRUE(test::contains(info.out, "SHA-256    f37072fd..."));
  EXPECT_TRUE(test::contains(info.out, "69.76 % on ImageNet-1k, as published"));
  const auto wrong = test::run_command({"weights", "info", "resnet18-tw"});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_TRUE(test::contains(wrong.err, "did you mean 'resnet18-tv'?"));
}

TEST(WeightsCommand, RefusesDamagedPackages) {
  const test::TemporaryFolder folder;
  write_file_atomically(folder / "model.json", "{}");
  const auto outcome =
      test::run_command({"weights", "fetch", "resnet50-imagenet", "--to", (folder / "to").string(),
                         "--from", folder.path().string()});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_TRUE(test::contains(outcome.err, "model.json"));
  EXPECT_FALSE(fs::exists(folder / "to" / "resnet50-imagenet"));
}

}  // namespace vitrine
