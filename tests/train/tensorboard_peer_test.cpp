#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/support/temporary_folder.h"
#include "vitrine/train/tensorboard.h"

namespace vitrine {
namespace {

/// Our file as the npm package `tfrecord` reads it, which checks every length and CRC. It is
/// fetched once, by the hashes of tests/train/peer/package-lock.json.
class TensorboardPeer : public testing::Test {
 protected:
  void SetUp() override {
    if (std::system("node --version >/dev/null 2>&1") != 0) GTEST_SKIP() << "node is not installed";
    fs::create_directories(peer);
    for (const auto& file : fs::directory_iterator(VITRINE_SOURCE_DIR "/tests/train/peer"))
      fs::copy_file(file.path(), peer / file.path().filename(),
                    fs::copy_options::overwrite_existing);
    if (fs::exists(peer / "node_modules" / ".package-lock.json")) return;
    const auto fetch = "cd '" + peer.string() +
                       "' && timeout 60 npm ci --ignore-scripts --no-audit --no-fund "
                       "--fetch-retries=0 >npm.log 2>&1";
    if (std::system(fetch.c_str()) != 0)
      GTEST_SKIP() << "npm could not fetch the foreign reader (offline?); see " << peer / "npm.log";
  }

  /// One object per event; fails if the foreign reader does.
  std::vector<nlohmann::json> read(const fs::path& file) const {
    const auto command =
        "cd '" + peer.string() + "' && node read_events.js '" + file.string() + "' >events.jsonl";
    EXPECT_EQ(std::system(command.c_str()), 0);
    std::vector<nlohmann::json> events;
    std::istringstream lines(read_file(peer / "events.jsonl"));
    for (std::string line; std::getline(lines, line);)
      events.push_back(nlohmann::json::parse(line));
    return events;
  }

  const fs::path peer = VITRINE_PEER_DIR;
  test::TemporaryFolder folder;
};

}  // namespace

TEST_F(TensorboardPeer, ReadsEveryScalarThatWeWrote) {
  EventWriter writer(folder.path());
  const auto value_at = [](int64_t step) { return std::sin(static_cast<double>(step)); };
  for (int64_t step = 0; step < 300; ++step)
    writer.scalar(step % 2 == 0 ? "train/loss" : "검증/정확도", step * 1000, value_at(step),
                  1.7e9 + static_cast<double>(step) / 4);
  const auto events = read(writer.path());
  ASSERT_EQ(events.size(), 301);
  EXPECT_EQ(events[0].at("file_version"), "brain.Event:2");
  EXPECT_GT(events[0].at("wall_time"), 1.7e9);
  for (int64_t step = 0; step < 300; ++step) {
    const auto& event = events[step + 1];
    const auto& point = event.at("summary").at("value").at(0);
    EXPECT_EQ(event.value("step", int64_t{0}), step * 1000);
    EXPECT_EQ(event.at("wall_time"), 1.7e9 + static_cast<double>(step) / 4);
    EXPECT_EQ(point.at("tag"), step % 2 == 0 ? "train/loss" : "검증/정확도");
    EXPECT_EQ(point.at("simple_value").get<float>(), static_cast<float>(value_at(step)));
  }
}

TEST_F(TensorboardPeer, FindsADamagedByte) {
  EventWriter writer(folder.path());
  writer.scalar("loss", 1, 1.0, 1.7e9);
  auto bytes = read_file(writer.path());
  bytes[bytes.size() - 6] ^= 1;
  write_file_atomically(folder / "damaged", bytes);
  const auto command = "cd '" + peer.string() + "' && node read_events.js '" +
                       (folder / "damaged").string() + "' >/dev/null 2>&1";
  EXPECT_NE(std::system(command.c_str()), 0);
}

}  // namespace vitrine
