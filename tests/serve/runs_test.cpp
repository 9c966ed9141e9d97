#include <gtest/gtest.h>

#include "tests/support/small_server.h"

namespace vitrine::serve {
namespace {

constexpr const char* kLines =
    "{\"kind\":\"epoch\",\"epoch\":1,\"validation_loss\":0.9,\"validation_accuracy\":0.6}\n"
    "{\"kind\":\"epoch\",\"epoch\":2,\"validation_loss\":0.5,\"validation_accuracy\":0.8}\n"
    "{\"kind\":\"step\",\"epoch\":3,\"loss\":0.7}\n{\"kind\":\"st";

constexpr const char* kResult =
    "{\"stop_reason\": \"finished\", \"epochs\": 3, \"selection_metric\": \"accuracy\", \"unit\": "
    "\"%\", \"validation\": {\"accuracy\": 0.8}, \"test\": {\"accuracy\": 0.7}}";

/// A server beside two runs, one of which has ended.
struct Runs {
  Runs() {
    for (const auto* name : {"first", "second-1"}) {
      fs::create_directories(folder / "runs" / name);
      write_file_atomically(folder / "runs" / name / "recipe.yaml",
                            "model: {name: vit_ti16}\ndata: {dataset: {name: cifar10}}\n");
      write_file_atomically(folder / "runs" / name / "metrics.jsonl", kLines);
    }
    write_file_atomically(folder / "runs/first/result.json", kResult);
    fs::create_directories(folder / "runs/no-run");
    fs::create_directories(folder / "outside");
    write_file_atomically(folder / "outside/recipe.yaml", "secret: 1\n");
  }
  test::TemporaryFolder folder;
  test::SmallServer server{{.runs = folder.path() / "runs"}};
};

}  // namespace

TEST(ServeRuns, ListsThem) {
  const Runs r;
  const auto runs = test::json_of(r.server.client().Get("/v1/runs"))["runs"];
  ASSERT_EQ(runs.size(), 2);
  EXPECT_EQ(runs[0]["name"], "first");
  EXPECT_EQ(runs[0]["model"], "vit_ti16");
  EXPECT_EQ(runs[0]["dataset"], "cifar10");
  EXPECT_EQ(runs[0]["state"], "finished");
  EXPECT_EQ(runs[0]["epochs"], 3);
  EXPECT_EQ(runs[0]["best"]["metric"], "accuracy");
  EXPECT_EQ(runs[0]["best"]["test_accuracy"], 0.7);
  EXPECT_EQ(runs[1]["state"], "running");
  EXPECT_EQ(runs[1]["best"]["epoch"], 2);
  EXPECT_EQ(runs[1]["best"]["validation_accuracy"], 0.8);
  const auto written = std::chrono::file_clock::to_sys(
      fs::last_write_time(r.folder / "runs/second-1/metrics.jsonl"));
  EXPECT_EQ(runs[1]["modified"],
            std::chrono::floor<std::chrono::seconds>(written).time_since_epoch().count());
}

TEST(ServeRuns, LeavesOutWhatAnotherProgramWrote) {
  const Runs r;
  const auto foreign = r.folder / "runs/foreign";
  fs::create_directories(foreign);
  write_file_atomically(foreign / "recipe.yaml", "a: 1\n");
  const auto listed = [&] {
    return test::json_of(r.server.client().Get("/v1/runs"))["runs"].size();
  };
  EXPECT_EQ(listed(), 3);
  write_file_atomically(foreign / "metrics.jsonl", "{\"kind\": 3}\n");
  EXPECT_EQ(listed(), 2);
  fs::remove(foreign / "metrics.jsonl");
  write_file_atomically(foreign / "result.json", "{\"epochs\": \"many\"}");
  EXPECT_EQ(listed(), 2);
}

TEST(ServeRuns, GivesWhatTheyWroteWithoutTheLineBeingWritten) {
  const Runs r;
  auto client = r.server.client();
  const auto metrics = test::json_of(client.Get("/v1/runs/second-1/metrics"));
  ASSERT_EQ(metrics.size(), 3);
  EXPECT_EQ(metrics[1]["validation_accuracy"], 0.8);
  EXPECT_EQ(client.Get("/v1/runs/first/recipe")->body.substr(0, 6), "model:");
  EXPECT_EQ(test::json_of(client.Get("/v1/runs/first/result"))["epochs"], 3);
  test::expect_error(client.Get("/v1/runs/second-1/result"), 404, "no result yet");
}

TEST(ServeRuns, NeverLeavesTheirFolder) {
  const Runs r;
  auto client = r.server.client();
  for (const auto* name : {"..", "%2e%2e%2foutside", "..%2Foutside", "../outside", "no-run", ".",
                           "%2e%2e/outside", "first%00", "%2Ftmp", "first/../../outside"}) {
    const auto answer = client.Get(fmt::format("/v1/runs/{}/recipe", name));
    ASSERT_TRUE(answer) << name;
    EXPECT_EQ(answer->status, 404) << name << answer->body;
    EXPECT_EQ(answer->body.find("secret"), std::string::npos);
  }
}

TEST(ServeRuns, AreNoneWithoutAFolder) {
  const test::SmallServer s;
  EXPECT_EQ(test::json_of(s.client().Get("/v1/runs"))["runs"].size(), 0);
}

}  // namespace vitrine::serve
