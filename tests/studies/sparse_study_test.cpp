#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "tests/support/command.h"
#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"
#include "vitrine/core/files.h"
#include "vitrine/studies/sparse/curves.h"
#include "vitrine/studies/sparse/growth.h"
#include "vitrine/studies/sparse/measure.h"
#include "vitrine/studies/sparse/report.h"
#include "vitrine/studies/sparse/stored.h"

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
  EXPECT_NEAR(curves.training.bits.at(1), 5, 1e-12);
  EXPECT_EQ(curves.validation.seconds, std::vector<double>{10});  // epoch 2 was not evaluated
  EXPECT_NEAR(curves.validation.bits.at(0), 6, 1e-12);
  EXPECT_EQ(curves.updates, 20);
  EXPECT_EQ(curves.seconds, 20);
}

TEST(SparseCurves, BinsKeepEveryPoint) {
  const auto curve = binned({{1, 2, 9, 10}, {8, 6, 4, 2}}, 2);
  EXPECT_EQ(curve.seconds, (std::vector<double>{1.5, 9.5}));
  EXPECT_EQ(curve.bits, (std::vector<double>{7, 3}));
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
  const auto rows = growth(step, cost, {1000, 1'000'000});
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_NEAR(rows[0].sparse.seconds, step.sparse.seconds, 1e-9);
  EXPECT_NEAR(rows[0].sparse.bytes, static_cast<double>(step.sparse.peak_bytes), 1);
  // Attention of 2 layers, 4 ms * n^p / 1000 each; the rest grows with n.
  const double attention = 1e-3 * 2 * 4e-3 * std::pow(1000, 1.5);
  EXPECT_NEAR(rows[1].sparse.seconds, (1 - attention) * 1000 + attention * std::pow(1000, 1.5),
              1e-6 * rows[1].sparse.seconds);
  EXPECT_NEAR(rows[1].sparse.bytes - rows[0].sparse.bytes, 999e3 * (token_bytes(step.size) + 100),
              1e4);
  EXPECT_GT(rows[1].dense.bytes, 1e14);
}

TEST(SparseGrowth, IsEmptyWithoutMeasuredMemory) {
  auto step = small_step();
  step.sparse.peak_bytes = 0;
  EXPECT_TRUE(growth(step, {.sparse = costs(1.5, 1), .dense = costs(2, 2)}, {1000}).empty());
}

TEST(SparseGrowth, CountsBytesByHand) {
  const auto size = small_step().size;
  EXPECT_EQ(fixed_bytes(size), 16'000);
  // 3 block inputs of 8, twice the 9 * 8 + 2 * 4 + 2 * 16 of a block, 3 * 256 scores.
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
  step.all_kept = StepCost{"strided", false, 0.5, 70'000'000};
  write_part(folder / "step.json", step);
  const auto back = read_part<StepPart>(folder / "step.json");
  ASSERT_TRUE(back && back->all_kept);
  EXPECT_EQ(back->all_kept->peak_bytes, 70'000'000);
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
  TrainedRun good{.name = "strided", .best_validation = 5, .test = 5.1, .pair_share = 0.04};
  good.curves = curves_of({step_line(1, 5, 5, 8), evaluated(epoch_line(1, 10, 10), 5)}, kBits);
  auto worse = good;
  worse.name = "local";
  worse.test = 5.35;
  study.trained["patterns"] = {.key = "model.pattern.kind",
                               .budget = 10,
                               .runs = {worse, good, {.name = "dense", .error = "no memory"}}};
  write_sparse_report(study, folder.path());
  const auto html = read_file(folder / "report.html");
  for (const auto* text :
       {"Not run yet: sampling, orders, strides, best, images.", "n^1.50 and its memory as n^1.00",
        "Dense attention was not run from n = 4000 on", "dense, failed: no memory",
        "lowest on the test part is strided with 5.100 bits per dim, then local (+0.250)",
        "with recomputation the step takes 0.05 GB, below the target of 3 GB"})
    EXPECT_TRUE(test::contains(html, text));
  for (const auto* figure : {"cost", "growth", "training-patterns", "pattern-strided"})
    EXPECT_TRUE(fs::exists(folder / (std::string("figures/") + figure + ".png"))) << figure;
}

TEST(StudySparse, MeasuresTrainsDrawsAndReports) {
  const test::TemporaryFolder folder;
  const auto out = folder / "study";
  ASSERT_EQ(run_smoke(out), 0) << read_file(folder / "study.log");
  const auto html = read_file(out / "report.html");
  EXPECT_EQ(html.find("Not run yet"), std::string::npos);
  for (const auto* heading :
       {"The patterns", "Cost of one attention", "One training step", "Longer sequences, on paper",
        "Patterns", "Order of the bytes", "Stride", "The long run", "Drawing images",
        "What the long run&#39;s network makes up"})
    EXPECT_TRUE(test::contains(html, fmt::format("<h2>{}</h2>", heading)));
  EXPECT_EQ(html.find(", failed:"), std::string::npos);
  EXPECT_TRUE(fs::exists(out / "figures/completed.png"));

  const auto written = [&](const std::string& part) {
    return fs::last_write_time(out / (part + "-smoke.json"));
  };
  // Once more: nothing is measured again but what is asked for.
  const auto cost = written("cost"), sampling = written("sampling"), images = written("images");
  ASSERT_EQ(run_smoke(out, "--parts cost"), 0) << read_file(folder / "study.log");
  EXPECT_GT(written("cost"), cost);
  EXPECT_EQ(written("sampling"), sampling);
  EXPECT_EQ(read_file(out / "report.html").find("Not run yet"), std::string::npos);

  // Another network makes other images.
  for (const auto& entry : fs::recursive_directory_iterator(out / "sweeps" / "sparse-best-smoke"))
    if (entry.path().filename() == "best.safetensors")
      fs::last_write_time(entry.path(), fs::file_time_type::clock::now());
  ASSERT_EQ(run_smoke(out), 0) << read_file(folder / "study.log");
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
