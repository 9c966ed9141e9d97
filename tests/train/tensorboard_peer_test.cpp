#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/support/temporary_folder.h"
#include "vitrine/train/hparams.h"
#include "vitrine/train/run_records.h"
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

TEST_F(TensorboardPeer, ReadsTheSettingsOfASession) {
  EventWriter writer(folder.path());
  writer.start_session({{"train.epochs", 3.0}, {"train.recompute", false}, {"model.name", "vit"}},
                       1.7e9);
  writer.end_session(1.7e9 + 60);
  const auto events = read(writer.path());
  ASSERT_EQ(events.size(), 3);
  const auto value = [&](size_t i) { return events[i].at("summary").at("value").at(0); };
  EXPECT_EQ(value(1).at("tag"), "_hparams_/session_start_info");
  EXPECT_FALSE(value(1).contains("simple_value"));
  const auto start = value(1).at("hparams").at("session_start_info");
  EXPECT_EQ(start.at("start_time_secs"), 1.7e9);
  EXPECT_EQ(start.at("hparams").at("train.epochs").at("number_value"), 3);
  EXPECT_EQ(start.at("hparams").at("train.recompute").at("bool_value"), false);
  EXPECT_EQ(start.at("hparams").at("model.name").at("string_value"), "vit");
  EXPECT_EQ(value(2).at("tag"), "_hparams_/session_end_info");
  const auto end = value(2).at("hparams").at("session_end_info");
  EXPECT_EQ(end.at("status"), 1);  // success
  EXPECT_EQ(end.at("end_time_secs"), 1.7e9 + 60);
}

TEST_F(TensorboardPeer, SplitsOfARunShareTheirTags) {
  make_folder(folder / "run" / "checkpoints");
  write_file_atomically(folder / "run" / "recipe.yaml", "name: r");
  const auto run = RunFolder::open(folder / "run");
  const MetricsLine step{"step", 1, 1, 1.7e9, {{"loss", 3}}};
  const MetricsLine epoch{
      "epoch", 1, 2, 1.7e9, {{"train_loss", 2}, {"validation_loss", 1}, {"learning_rate", 0.5}}};
  MetricsFile file(run.metrics(), /*keep_bytes=*/0);
  file.add(step);
  RunRecords records(run, {{.name = "loss"}}, {.name = "loss"}, {{"seed", 1.0}});
  file.add(epoch);
  records.add(epoch);
  const auto points = [&](const std::string& split) {
    std::map<std::string, double> found;
    for (const auto& file : fs::directory_iterator(run.path() / "tensorboard" / split))
      if (file.is_regular_file())
        for (const auto& event : read(file.path()))
          if (event.contains("summary")) {
            const auto& value = event["summary"]["value"][0];
            found[value["tag"]] = value.value("simple_value", -1.0);
          }
    return found;
  };
  EXPECT_EQ(points("train"), (std::map<std::string, double>{
                                 {"step/loss", 3}, {"loss", 2}, {"epoch/learning_rate", 0.5}}));
  EXPECT_EQ(points("validation"), (std::map<std::string, double>{{"loss", 1}}));
  EXPECT_EQ(points(""), (std::map<std::string, double>{{"_hparams_/session_start_info", -1}}));
}

TEST(HParams, AreTheSettingsOfTheRecipeByTheirKeys) {
  Recipe recipe;
  recipe.train.optimizer.lr = 0.25;
  recipe.model.choose("vit_c10_small");
  std::map<std::string, std::variant<bool, double, std::string>> found;
  for (const auto& [key, value] : hparams_of(recipe)) found[key] = value;
  EXPECT_EQ(std::get<double>(found.at("train.optimizer.lr")), 0.25);
  EXPECT_EQ(std::get<double>(found.at("train.epochs")), 10);
  EXPECT_EQ(std::get<std::string>(found.at("model.name")), "vit_c10_small");
  EXPECT_EQ(std::get<std::string>(found.at("train.schedule.kind")), "cosine");
  EXPECT_EQ(std::get<bool>(found.at("train.recompute")), false);
  EXPECT_FALSE(found.contains("name"));
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
