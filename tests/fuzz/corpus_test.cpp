// The kept inputs through their targets: those that once found something, and one good input of
// each kind.
#include <gtest/gtest.h>

#include <utility>

#include "tests/fuzz/targets.h"
#include "vitrine/core/error.h"
#include "vitrine/core/files.h"

namespace vitrine::fuzz {
namespace {

using Target = std::pair<const char*, void (*)(std::string_view)>;

class Corpus : public testing::TestWithParam<Target> {};

}  // namespace

TEST_P(Corpus, IsTakenOrRefused) {
  const auto [name, enter] = GetParam();
  const auto folder = fs::path(VITRINE_SOURCE_DIR) / "tests/fuzz/corpus" / name;
  int taken = 0, refused = 0;
  for (const auto& file : fs::directory_iterator(folder)) {
    SCOPED_TRACE(file.path().string());
    const auto bytes = read_file(file.path());
    try {
      enter(bytes);
      ++taken;
    } catch (const Error&) {
      ++refused;
    }
  }
  EXPECT_GT(taken, 0) << "no input of " << name << " is good";
  RecordProperty("taken", taken);
  RecordProperty("refused", refused);
}

INSTANTIATE_TEST_SUITE_P(Targets, Corpus,
                         testing::Values(Target{"safetensors", safetensors}, Target{"npy", npy},
                                         Target{"pth", pth}, Target{"tfjs", tfjs},
                                         Target{"image", image}, Target{"recipe", recipe},
                                         Target{"sweep", sweep}, Target{"cifar", cifar},
                                         Target{"archive", archive}, Target{"http", http},
                                         Target{"tensor_json", tensor_json}),
                         [](const auto& target) { return std::string(target.param.first); });

}  // namespace vitrine::fuzz
