#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "tests/support/command.h"
#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/translations.h"
#include "vitrine/core/files.h"
#include "vitrine/studies/sparse/measure.h"

namespace vitrine::sparse {
namespace {

const Metric kBits{.name = "bits_per_dim"};

MetricsLine step_line(int64_t epoch, int64_t step, double seconds, double bits) {
  return {
      "step", epoch, step, /*time=*/0, {{"loss", 1}, {"bits_per_dim", bits}, {"seconds", seconds}}};
}

MetricsLine epoch_line(int64_t epoch, int64_t step, double seconds) {
  return {"epoch", epoch, step, /*time=*/0, {{"train_loss", 1}, {"seconds", seconds}}};
}

MetricsLine evaluated(MetricsLine line, double bits) {
  line.values.emplace_back("validation_bits_per_dim", bits);
  return line;
}

/// Time and memory that follow exact powers of the length.
std::vector<AttentionCost> costs(double time_power, double memory_power) {
  std::vector<AttentionCost> all;
  for (const int64_t n : {1000, 2000, 4000}) {
    const auto tokens = static_cast<double>(n);
    all.push_back({.tokens = n,
                   .forward_ms = 1e-3 * std::pow(tokens, time_power),
                   .total_ms = 3e-3 * std::pow(tokens, time_power),
                   .bytes = std::llround(100 * std::pow(tokens, memory_power))});
  }
  return all;
}

StepPart small_step() {
  return {.model = "small",
          .size = {.parameters = 1000, .layers = 2, .dim = 8, .key_width = 4, .hidden = 16},
          .tokens = 1000,
          .threads = 1,
          .sparse = {"strided", true, 1.0, 50'000'000},
          .dense = {"dense", true, 2.0, 60'000'000}};
}

/// Runs the real program, which starts itself again for its runs.
int run_smoke(const fs::path& out, const std::string& more = "") {
  return std::system(fmt::format("{} study sparse --smoke --out {} --sweeps {}/recipes/sparse {} "
                                 "> {}.log 2>&1",
                                 VITRINE_PROGRAM, out.string(), VITRINE_SOURCE_DIR, more,
                                 out.string())
                         .c_str());
}

}  // namespace

TEST(SparseCurves, FollowTheTrainingTime) {
  const auto curves = curves_of({step_line(1, 5, 5, 8),
                                 evaluated(epoch_line(1, 10, 10), 6),
                                 step_line(2, 15, 15, 5),
                                 epoch_line(2, 20, 20),
                                 {"test", 2, 20, /*time=*/0, {{"bits_per_dim", 1}}}},
                                kBits);
  EXPECT_EQ(curves.training.seconds, (std::vector<double>{5, 15}));
  EXPECT_NEAR(curves.training.values.at(1), 5, 1e-12);
  EXPECT_EQ(curves.validation.seconds, std::vector<double>{10});  // epoch 2 was not evaluated
  EXPECT_NEAR(curves.validation.values.at(0), 6, 1e-12);
}

TEST(SparseCurves, BinsKeepEveryPoint) {
  const auto curve = binned({{1, 2, 9, 10}, {8, 6, 4, 2}}, 2);
  EXPECT_EQ(curve.seconds, (std::vector<double>{1.5, 9.5}));
  EXPECT_EQ(curve.values, (std::vector<double>{7, 3}));
  EXPECT_TRUE(binned({}, 2).seconds.empty());
}

TEST(SparseGrowth, FindsThePowerBehindExactPoints) {
  const auto law = fit_power_law({1, 4, 16}, {3, 24, 192});
  EXPECT_NEAR(law.exponent, 1.5, 1e-12);
  EXPECT_NEAR(law.factor, 3, 1e-9);
  EXPECT_NEAR(law.at(64), 3 * 512, 1e-6);
}

TEST(SparseGrowth, NeedsTwoKnownPoints) {
  EXPECT_FALSE(growth_of({{.tokens = 10, .bytes = 5}, {.tokens = 20}}, attention_bytes));
  EXPECT_FALSE(growth_of({}, total_ms));
}

TEST(SparseGrowth, MeetsTheMeasuredStepAndGrowsByItsLaws) {
  const auto step = small_step();
  const CostPart cost{.sparse = costs(1.5, 1), .dense = costs(2, 2)};
  const auto [sparse, dense] = growth(step, cost, {1000, 1'000'000});
  ASSERT_EQ(sparse.size(), 2u);
  ASSERT_EQ(dense.size(), 2u);
  EXPECT_NEAR(sparse[0].seconds, step.sparse.seconds, 1e-9);
  EXPECT_NEAR(sparse[0].bytes, static_cast<double>(step.sparse.peak_bytes), 1);
  // Attention of 2 layers, 4 ms * n^p / 1000 each; the rest grows with n.
  const double attention = 1e-3 * 2 * 4e-3 * std::pow(1000, 1.5);
  EXPECT_NEAR(sparse[1].seconds, (1 - attention) * 1000 + attention * std::pow(1000, 1.5),
              1e-6 * sparse[1].seconds);
  EXPECT_NEAR(sparse[1].bytes - sparse[0].bytes, 999e3 * (token_bytes(step.size) + 100), 1e4);
  EXPECT_GT(dense[1].bytes, 1e14);
}

TEST(SparseGrowth, IsEmptyWithoutMeasuredMemory) {
  auto step = small_step();
  step.sparse.peak_bytes = 0;
  EXPECT_TRUE(growth(step, {.sparse = costs(1.5, 1), .dense = costs(2, 2)}, {1000}).sparse.empty());
}

TEST(SparseGrowth, CountsBytesByHand) {
  const auto size = small_step().size;
  EXPECT_EQ(training_state_bytes(size), 16'000);
  // 3 block inputs of 8, twice the 9 * 8 + 2 * 4 + 2 * 16 of a block, 3 * 256 logits.
  EXPECT_EQ(token_bytes(size), 4 * (24 + 224 + 768));
  EXPECT_EQ(bytes_without_recompute(size, 10), 16'000 + 10 * (4 * 1016 + 4 * 2 * 112));
}

TEST(SparseCost, StridesFollowTheSquareRoot) {
  EXPECT_EQ(stride_for(1024), 32);
  EXPECT_EQ(stride_for(3072), 64);
  EXPECT_EQ(stride_for(4096), 64);
  EXPECT_EQ(stride_for(49152), 224);
}

TEST(SparseStored, PartsComeBackAsTheyWere) {
  const test::TemporaryFolder folder;
  auto step = small_step();
  step.all_kept = {"strided", false, 0.5, 70'000'000};
  write_part(folder / "step.json", step);
  const auto back = read_part<StepPart>(folder / "step.json");
  ASSERT_TRUE(back);
  EXPECT_EQ(back->all_kept.peak_bytes, 70'000'000);
  EXPECT_EQ(back->size.hidden, 16);
  EXPECT_EQ(back->sparse.pattern, "strided");
  EXPECT_FALSE(read_part<CostPart>(folder / "cost.json"));
  write_file_atomically(folder / "cost.json", "{\"threads\": 1}");
  EXPECT_TRUE(test::contains(test::error_of([&] { read_part<CostPart>(folder / "cost.json"); }),
                             "cost.json is not a part of the study"));
}

TEST(SparseReport, TellsWhatIsThereAndNamesWhatIsMissing) {
  const test::TemporaryFolder folder;
  SparseStudy study;
  study.step = small_step();
  study.cost = CostPart{.threads = 1, .rounds = 1, .sparse = costs(1.5, 1), .dense = costs(2, 2)};
  study.cost->dense.pop_back();
  TrainedRun good{.name = "strided",
                  .result = {.outcome = RunOutcome{.selection_metric = kBits,
                                                   .validation = {{"bits_per_dim", 5}},
                                                   .test = {{"bits_per_dim", 5.1}},
                                                   .steps = 10,
                                                   .seconds = 10}},
                  .pair_fraction = 0.04};
  good.curves = curves_of({step_line(1, 5, 5, 8), evaluated(epoch_line(1, 10, 10), 5)}, kBits);
  auto worse = good;
  worse.name = "local";
  worse.result.outcome->test = {{"bits_per_dim", 5.35}};
  const TrainedRun failed{.name = "dense", .result = {.error = "no memory"}};
  study.trained["patterns"] = {
      .key = "model.pattern.kind", .budget = 10, .runs = {worse, good, failed}};
  write_sparse_report(study, folder.path());
  const auto html = read_file(folder / "report.html");
  for (const auto* text :
       {"Not run yet: sampling, orders, strides, best, images.", "n^1.50 and its memory as n^1.00",
        "Dense attention was not run from n = 4000 on", "dense, failed: no memory",
        ("lowest on the test set is strided with 5.100 bits per dim, then local (+0.250). All made "
         "10 updates."),
        "with recomputation the step takes 0.05 GB, below the target of 3 GB"})
    EXPECT_TRUE(test::contains(html, text));
  const auto korean = read_file(folder / "report.ko.html");
  for (const auto* text :
       {"<html lang=\"ko\">", "아직 실행하지 않은 부분: sampling, orders, strides, best, images.",
        "밀집 어텐션은 n = 4000부터 실행하지 않았습니다", "dense, 실패: no memory",
        "테스트 데이터에서 가장 낮은 것은 strided(5.100 bits per dim)이고, 그다음은 local(+0.250)",
        "0.05 GB가 들어 목표인 3 GB보다 작습니다"})
    EXPECT_TRUE(test::contains(korean, text));
  for (const std::string figure : {"cost", "growth", "training-patterns", "pattern-strided"})
    for (const auto* figures : {"figures", "figures-ko"})
      EXPECT_TRUE(fs::exists(folder / figures / (figure + ".png"))) << figures << figure;
}

TEST(SparseTexts, AreAlikeInEveryLanguage) { test::expect_same_in_every_language(sparse_texts()); }

TEST(StudySparse, MeasuresTrainsGeneratesAndReports) {
  const test::TemporaryFolder folder;
  const auto out = folder / "study";
  ASSERT_EQ(run_smoke(out), 0) << read_file(folder / "study.log");
  const auto html = read_file(out / "report.html");
  EXPECT_EQ(html.find("Not run yet"), std::string::npos);
  for (const auto* heading :
       {"The patterns", "Cost of one attention", "One training step",
        "Longer sequences: an estimate", "Patterns", "Order of the bytes", "Stride", "The long run",
        "Sampling speed", "What the network of the long run generates"})
    EXPECT_TRUE(test::contains(html, fmt::format("<h2>{}</h2>", heading)));
  EXPECT_EQ(html.find(", failed:"), std::string::npos);
  for (const auto* name : {"figures/completed.png", "figures-ko/completed.png",
                           "sweeps/sparse-patterns-smoke/results.png"})
    EXPECT_TRUE(fs::exists(out / name)) << name;
  EXPECT_TRUE(test::contains(read_file(out / "report.ko.html"), "<h2>생성 속도</h2>"));

  const auto written = [&](const std::string& part) {
    return fs::last_write_time(out / (part + "-smoke.json"));
  };
  // Once more: nothing is measured again but what is asked for.
  const auto cost = written("cost"), sampling = written("sampling"), images = written("images");
  ASSERT_EQ(run_smoke(out, "--parts cost"), 0) << read_file(folder / "study.log");
  EXPECT_GT(written("cost"), cost);
  EXPECT_EQ(written("sampling"), sampling);
  EXPECT_EQ(read_file(out / "report.html").find("Not run yet"), std::string::npos);

  // Another network generates other images; one language is enough.
  for (const auto& entry : fs::recursive_directory_iterator(out / "sweeps" / "sparse-best-smoke"))
    if (entry.path().filename() == "best.safetensors")
      fs::last_write_time(entry.path(), fs::file_time_type::clock::now());
  const auto english = fs::last_write_time(out / "report.html");
  ASSERT_EQ(run_smoke(out, "--lang ko"), 0) << read_file(folder / "study.log");
  EXPECT_EQ(fs::last_write_time(out / "report.html"), english);
  EXPECT_TRUE(test::contains(read_file(folder / "study.log"), "report.ko.html"));
  EXPECT_GT(written("images"), images);
  EXPECT_EQ(written("sampling"), sampling);
}

TEST(StudySparse, ImagesNeedTheLongRun) {
  const test::TemporaryFolder folder;
  EXPECT_NE(run_smoke(folder / "study", "--parts images"), 0);
  EXPECT_TRUE(test::contains(read_file(folder / "study.log"), "--parts best,images makes both"));
}

TEST(StudySparse, UnknownPartsAreNamed) {
  const auto outcome = test::run_command({"study", "sparse", "--parts", "costs"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_TRUE(test::contains(outcome.err, "part 'costs' is not known; did you mean 'cost'?"));
}

}  // namespace vitrine::sparse
