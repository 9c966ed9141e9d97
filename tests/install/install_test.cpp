#include <gtest/gtest.h>

#include "tests/support/errors.h"
#include "tests/support/small_checkpoint.h"
#include "tests/support/temporary_folder.h"
#include "vitrine/core/image_files.h"
#include "vitrine/data/process.h"

namespace vitrine {

TEST(Install, TheExampleBuildsAgainstTheInstalledCopyAndNamesAnImage) {
  test::TemporaryFolder folder;
  const auto must = [&](const std::vector<std::string>& command) {
    const auto result = run_process(command, folder.path());
    EXPECT_EQ(result.status, 0) << command[0] << ": " << result.output;
    return result.output;
  };
  const auto prefix = (folder / "prefix").string(), build = (folder / "build").string();
  must({VITRINE_CMAKE, "--install", VITRINE_BUILD_DIR, "--prefix", prefix});
  must({VITRINE_CMAKE, "-S", VITRINE_SOURCE_DIR "/examples", "-B", build, "-G", "Ninja",
        "-DCMAKE_PREFIX_PATH=" + prefix});
  must({VITRINE_CMAKE, "--build", build});

  test::save_small_checkpoint(folder / "m.safetensors", "vit_ti16", test::kSmallVit);
  write_png(folder / "p.png", Image(20, 20));
  const auto answer = must({build + "/classify", "m.safetensors", "p.png"});
  EXPECT_TRUE(test::contains(answer, "%"));
  EXPECT_EQ(std::count(answer.begin(), answer.end(), '\n'), 4) << answer;  // it knows four classes
  const auto alike = must({build + "/similarity", "m.safetensors", "p.png", "p.png"});
  EXPECT_TRUE(test::contains(alike, "cosine of 32 features  1.0000")) << alike;
  EXPECT_NE(run_process({build + "/classify", "m.safetensors", "none.png"}, folder.path()).status,
            0);
  EXPECT_TRUE(test::contains(must({prefix + "/bin/vitrine", "--help"}), "train"));
  for (const auto* file :
       {"man/man1/vitrine.1.gz", "man/man1/vitrine-train.1.gz", "doc/vitrine/copyright",
        "doc/vitrine/changelog.gz", "bash-completion/completions/vitrine",
        "zsh/vendor-completions/_vitrine", "fish/vendor_completions.d/vitrine.fish"})
    EXPECT_TRUE(fs::exists(fs::path(prefix) / "share" / file)) << file;
  fs::rename(prefix, folder / "elsewhere");  // the copy can be moved
  must({folder / "elsewhere/bin/vitrine", "models", "vit_ti16"});
  fs::rename(folder / "elsewhere", prefix);
  must({prefix + "/bin/vitrine", "study", "addition", "--smoke", "--parts", "final"});
  EXPECT_TRUE(fs::exists(folder / "studies/addition/report.html"));
}

}  // namespace vitrine
