#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cstdlib>

#include "tests/support/command.h"
#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/translations.h"
#include "vitrine/models/model.h"
#include "vitrine/nn/parameter_count.h"
#include "vitrine/studies/inductive_bias/measure.h"
#include "vitrine/studies/sweep_plan.h"
#include "vitrine/train/config.h"

namespace vitrine::inductive_bias {
namespace {

const fs::path kSweeps = VITRINE_SOURCE_DIR "/recipes/inductive-bias";

SweepConfig sweep_of(const std::string& network, const std::string& part) {
  return read_sweep(kSweeps / fmt::format("{}-{}.yaml", network, part));
}

std::vector<Recipe> recipes_of(const SweepConfig& config) {
  std::vector<Recipe> recipes;
  for (const auto& point : sweep_points(config))
    recipes.push_back(
        read_recipe(config.recipe.string(), run_overrides(point, /*seed=*/1, config.budget)));
  return recipes;
}

/// Answers with the column of the brightest pixel.
class BrightestColumn : public Model {
 public:
  torch::Tensor features(const torch::Tensor& x) override { return x.amax({1, 2}); }
  torch::Tensor logits(const torch::Tensor& features) override { return 100 * features; }
  torch::Tensor example_input(int64_t batch) const override {
    return torch::zeros({batch, 1, 9, 9});
  }
};

SweepResult sweep_with(const std::vector<std::pair<double, double>>& fractions_and_accuracies) {
  const Metric accuracy{.name = "accuracy"};
  SweepResult sweep;
  for (const auto& [fraction, value] : fractions_and_accuracies) {
    PointResult point{.point = {.settings = {{kFractionKey, fmt::format("{}", fraction)}}}};
    for (const int64_t seed : {1, 2})
      point.runs.push_back({.seed = seed,
                            .outcome = RunOutcome{.selection_metric = accuracy,
                                                  .validation = {{"accuracy", value}},
                                                  .test = {{"accuracy", value + 0.01 * seed}},
                                                  .steps = 2000,
                                                  .seconds = 10,
                                                  .parameters = 286634},
                            .folder = fmt::format("run-{}-{}", fraction, seed)});
    sweep.points.push_back(point);
  }
  return sweep;
}

int run_smoke(const fs::path& out, const std::string& more = "") {
  return std::system(
      fmt::format("{} study inductive-bias --smoke --out {} --sweeps {} {} > {}.log 2>&1",
                  VITRINE_PROGRAM, out.string(), kSweeps.string(), more, out.string())
          .c_str());
}

}  // namespace

TEST(InductiveBiasSweeps, CompareNetworksOfAboutEqualSize) {
  std::vector<double> sizes;
  for (const auto& network : network_names())
    for (const auto* part : {"updates", "time"})
      sizes.push_back(static_cast<double>(
          parameter_count(*recipes_of(sweep_of(network, part)).front().model.build())));
  const auto [least, most] = std::minmax_element(sizes.begin(), sizes.end());
  EXPECT_LT(*most / *least, 1.12);
}

TEST(InductiveBiasSweeps, DifferInTheNetworkAlone) {
  for (const auto* part : {"updates", "time"}) {
    std::vector<std::string> first;
    for (const auto& network : network_names()) {
      std::vector<std::string> all;
      for (auto recipe : recipes_of(sweep_of(network, part))) {
        recipe.model.choose("vit_c10_small");
        all.push_back(to_yaml(recipe));
      }
      if (first.empty()) first = all;
      EXPECT_EQ(all, first) << network;
    }
  }
}

TEST(InductiveBiasSweeps, MakeEqualUpdatesWithEveryFraction) {
  constexpr int64_t kTraining = 50'000;
  std::vector<double> fractions;
  for (const auto& recipe : recipes_of(sweep_of("vit", "updates"))) {
    const auto images =
        std::llround(recipe.data.fraction * kTraining * (1 - recipe.data.validation));
    EXPECT_EQ(images % recipe.data.batch, 0);
    EXPECT_EQ(images / recipe.data.batch * recipe.train.epochs, 1500);
    fractions.push_back(recipe.data.fraction);
  }
  EXPECT_EQ(fractions, (std::vector<double>{0.01, 0.05, 0.1, 0.5, 1}));
  for (const auto& recipe : recipes_of(sweep_of("vit", "time")))
    EXPECT_EQ(recipe.train.budget_seconds, 60);
}

TEST(InductiveBiasShifts, MirrorTheImageAtItsBorder) {
  const auto x = torch::arange(12, torch::kFloat).reshape({1, 1, 3, 4});
  EXPECT_TRUE(shifted(x, 0, 1)[0][0][0].equal(torch::tensor({1.F, 0.F, 1.F, 2.F})));
  EXPECT_TRUE(shifted(x, 0, -2)[0][0][0].equal(torch::tensor({2.F, 3.F, 2.F, 1.F})));
  EXPECT_TRUE(shifted(x, -1, 0)[0][0].select(1, 0).equal(torch::tensor({4.F, 8.F, 4.F})));
}

TEST(InductiveBiasShifts, CountTheAnswersThatChange) {
  BrightestColumn model;
  auto images = torch::zeros({3, 1, 9, 9});
  for (int64_t i = 0; i < 3; ++i) images[i][0][4][3 + i] = 1;
  const auto response = shift_response(model, images, torch::arange(3) + 3, /*most=*/2);
  // Up and down change nothing; left and right change every answer.
  EXPECT_EQ(response.changed, (std::vector<double>{0, 0.5, 0.5}));
  EXPECT_EQ(response.accuracy, (std::vector<double>{1, 0.5, 0.5}));
  EXPECT_NEAR(response.distance.at(2), 0.5, 1e-6);
}

TEST(InductiveBiasStudyParts, AreMeasuredOnTheNetworksWithTheMostImages) {
  auto sweep = sweep_with({{1, 0.7}, {0.1, 0.4}});
  sweep.points[0].runs[1] = {.seed = 2, .error = "no memory"};
  const auto networks = best_fed({{"resnet", sweep}, {"cct", sweep}});
  ASSERT_EQ(networks.size(), 2u);
  EXPECT_EQ(networks[0].network, "cct");
  EXPECT_EQ(networks[0].run, "run-1-1");
  EXPECT_EQ(largest_fraction({{"cct", sweep}}), 1);
}

TEST(InductiveBiasReport, TellsWhatIsThereAndNamesWhatIsMissing) {
  const test::TemporaryFolder folder;
  InductiveBiasStudy study;
  study.updates["vit"] = sweep_with({{0.01, 0.25}, {1, 0.6}});
  study.updates["hybrid"] = sweep_with({{0.01, 0.27}, {1, 0.65}});
  study.updates["cct"] = sweep_with({{0.01, 0.33}, {1, 0.685}});
  study.updates["resnet"] = sweep_with({{0.01, 0.375}, {1, 0.705}});
  study.updates["resnet"].points[0].runs.push_back({.seed = 3, .error = "no memory"});
  study.locality =
      LocalityPart{.images = 20,
                   .networks = {{.network = "vit",
                                 .seed = 1,
                                 .before = {{0.5, 0.52}, {0.5, 0.51}},
                                 .after = {{0.2, 0.4}, {0.5, 0.45}},
                                 .uniform = 0.52},
                                {.network = "vit_b16", .after = {{0.1}, {0.5}}, .uniform = 0.52}}};
  write_inductive_bias_report(study, folder.path());
  const auto html = read_file(folder / "report.html");
  for (const auto* text :
       {"Not run yet: time, shifts.",
        "With 1 % of the images: ResNet 39.0 %, CCT 34.5 %, hybrid 28.5 %, ViT 26.5 %.",
        "The ViT is 12.5 percentage points behind the best network with the fewest images and "
        "10.5 with the most.",
        "39.00 ± 0.71", "286,634", "Runs that failed: 1 (no memory).",
        "In the first layer of the ViT training moves the mean distance from 51.0 to 30.0 %",
        "vit_b16, pre-trained"})
    EXPECT_TRUE(test::contains(html, text)) << text;
  const auto korean = read_file(folder / "report.ko.html");
  for (const auto* text : {"아직 실행하지 않은 부분: time, shifts.", "하이브리드 28.5%"})
    EXPECT_TRUE(test::contains(korean, text)) << text;
  for (const std::string figure : {"accuracy", "locality"})
    for (const auto* figures : {"figures", "figures-ko"})
      EXPECT_TRUE(fs::exists(folder / figures / (figure + ".png"))) << figures << figure;
}

TEST(InductiveBiasTexts, AreAlikeInEveryLanguage) {
  test::expect_same_in_every_language(inductive_bias_texts());
}

TEST(StudyInductiveBias, TrainsMeasuresAndReports) {
  const test::TemporaryFolder folder;
  const auto out = folder / "study";
  ASSERT_EQ(run_smoke(out), 0) << read_file(folder / "study.log");
  const auto html = read_file(out / "report.html");
  EXPECT_EQ(html.find("Not run yet"), std::string::npos);
  EXPECT_EQ(html.find("Runs that failed"), std::string::npos);
  for (const auto* heading : {"Equal updates", "Equal time", "Locality", "Translation"})
    EXPECT_TRUE(test::contains(html, fmt::format("<h2>{}</h2>", heading)));
  const auto locality = read_part<LocalityPart>(out / "locality-smoke.json");
  ASSERT_TRUE(locality);
  ASSERT_EQ(locality->networks.size(), 3u);  // ResNet has no attention
  for (const auto& network : locality->networks) {
    EXPECT_EQ(network.before.size(), network.after.size());
    for (const auto& layers : {network.before, network.after})
      for (const auto& heads : layers)
        for (const double distance : heads) {
          EXPECT_GT(distance, 0);
          EXPECT_LT(distance, 1);
        }
    EXPECT_NE(network.before, network.after);
  }
  const auto shifts = read_part<ShiftPart>(out / "shifts-smoke.json");
  ASSERT_TRUE(shifts);
  ASSERT_EQ(shifts->networks.size(), 4u);
  for (const auto& network : shifts->networks) EXPECT_EQ(network.changed.size(), 9u);

  // Weights that come later are measured too; the networks are not trained again.
  const auto init = out / "sweeps/inductive-bias-vit-updates-smoke";
  fs::path checkpoint;
  for (const auto& entry : fs::recursive_directory_iterator(init))
    if (entry.path().filename() == "best.safetensors") checkpoint = entry.path();
  ASSERT_EQ(run_smoke(out, "--lang en --init " + checkpoint.string()), 0)
      << read_file(folder / "study.log");
  EXPECT_TRUE(test::contains(read_file(out / "report.html"), "vit_c10_small, pre-trained"));
  EXPECT_NE(run_smoke(out, "--init nowhere.safetensors"), 0);
  EXPECT_TRUE(test::contains(read_file(folder / "study.log"), "nowhere.safetensors"));
}

}  // namespace vitrine::inductive_bias
