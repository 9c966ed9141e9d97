#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/support/command.h"
#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"
#include "vitrine/core/files.h"

namespace vitrine {
namespace {

/// Runs the real program, whose sweeps start it again as worker processes.
int run_study(const fs::path& out, const std::string& parts) {
  const auto command = fmt::format(
      "{} study addition --smoke --parts {} --out {} --sweeps {}/recipes/addition "
      "> {}.log 2>&1",
      VITRINE_PROGRAM, parts, out.string(), VITRINE_SOURCE_DIR, out.string());
  return std::system(command.c_str());
}

fs::path first_folder(const fs::path& parent) {
  for (const auto& entry : fs::directory_iterator(parent))
    if (entry.is_directory()) return entry.path();
  return {};
}

}  // namespace

TEST(StudyAddition, TrainsAsksReportsAndContinuesWhereItStopped) {
  const test::TemporaryFolder folder;
  const auto out = folder / "study";
  ASSERT_EQ(run_study(out, "final"), 0) << read_file(folder / "study.log");
  for (const auto* name : {"report.html", "report.ko.html", "figures/errors_cnn.png",
                           "figures-ko/training_loss.svg", "results.ko.md"})
    EXPECT_TRUE(fs::exists(out / name)) << name;
  EXPECT_TRUE(test::contains(read_file(out / "results.md"), "right of 10,000, by seed"));
  EXPECT_TRUE(test::contains(read_file(out / "results.md"), "Not run yet: first sweep (CNN)"));
  const auto result = first_folder(out / "sweeps/addition-cnn-final-smoke/runs") / "result.json";
  const auto made = fs::last_write_time(result);
  ASSERT_EQ(run_study(out, "final"), 0);
  EXPECT_EQ(fs::last_write_time(result), made);
}

TEST(StudyAddition, UnknownLanguagesAreRefusedBeforeAnyRun) {
  const test::TemporaryFolder folder;
  const auto out = folder / "study";
  const auto outcome =
      test::run_command({"study", "addition", "--smoke", "--lang", "kr", "--out", out.string()});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_TRUE(test::contains(outcome.err, "language 'kr' is not known; did you mean 'ko'?"));
  EXPECT_FALSE(fs::exists(out));
}

TEST(StudyAddition, UnknownPartsAreNamed) {
  const auto outcome = test::run_command({"study", "addition", "--parts", "fina"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_TRUE(test::contains(outcome.err, "part 'fina' is not known; did you mean 'final'?"));
  EXPECT_TRUE(test::contains(test::run_command({"study", "subtraction"}).err,
                             "(known: addition, finetune, inductive-bias, scratch, sparse, zoo)"));
}

}  // namespace vitrine
