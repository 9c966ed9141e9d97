// The kept inputs through their doors: those that once found something, and one good input of each
// kind.
#include <gtest/gtest.h>

#include <utility>

#include "tests/fuzz/doors.h"
#include "vitrine/core/error.h"
#include "vitrine/core/files.h"

namespace vitrine::fuzz {
namespace {

using Door = std::pair<const char*, void (*)(std::string_view)>;

class Corpus : public testing::TestWithParam<Door> {};

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

INSTANTIATE_TEST_SUITE_P(Doors, Corpus,
                         testing::Values(Door{"safetensors", safetensors}, Door{"npy", npy},
                                         Door{"pth", pth}, Door{"tfjs", tfjs}, Door{"image", image},
                                         Door{"recipe", recipe}, Door{"sweep", sweep},
                                         Door{"cifar", cifar}, Door{"archive", archive},
                                         Door{"http", http}, Door{"tensor_json", tensor_json}),
                         [](const auto& door) { return std::string(door.param.first); });

}  // namespace vitrine::fuzz
