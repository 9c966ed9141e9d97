#include "vitrine/train/predictions.h"

#include <gtest/gtest.h>

#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"

namespace vitrine {

TEST(Predictions, OfTheTestSplitComeBackWithFiveDecimals) {
  const test::TemporaryFolder folder;
  const auto file = folder / "predictions.json";
  write_predictions(file, {.classes = {"cat", "개"},
                           .examples = {{.index = 7,
                                         .truth = 1,
                                         .predicted = 0,
                                         .probability = 2.0 / 3,
                                         .truth_probability = 1.0 / 3}}});
  const auto read = read_predictions(file);
  EXPECT_EQ(read.classes, (std::vector<std::string>{"cat", "개"}));
  ASSERT_EQ(read.examples.size(), 1u);
  EXPECT_EQ(read.examples[0].index, 7);
  EXPECT_EQ(read.examples[0].truth, 1);
  EXPECT_EQ(read.examples[0].predicted, 0);
  EXPECT_EQ(read.examples[0].probability, 0.66667);
  EXPECT_EQ(read.examples[0].truth_probability, 0.33333);
}

TEST(Predictions, ThatAreNoneAreRefusedByTheNameOfTheFile) {
  const test::TemporaryFolder folder;
  const auto file = folder / "predictions.json";
  const auto refusal = [&](const std::string& text) {
    write_file_atomically(file, text);
    return test::error_of([&] { read_predictions(file); });
  };
  EXPECT_TRUE(test::contains(refusal("[1, 2"), file.string()));
  EXPECT_TRUE(test::contains(refusal("{\"classes\": [\"a\"]}"), "does not hold the predictions"));
  EXPECT_TRUE(test::contains(
      refusal("{\"classes\": [\"a\"], \"index\": [4], \"true\": [0], \"predicted\": [1], "
              "\"probability\": [1], \"true_probability\": [0]}"),
      "example 4 with classes 0 and 1 of 1"));
  // A list that is too short.
  EXPECT_TRUE(test::contains(
      refusal("{\"classes\": [\"a\"], \"index\": [4, 5], \"true\": [0], \"predicted\": [0], "
              "\"probability\": [1], \"true_probability\": [0]}"),
      "does not hold the predictions"));
}

}  // namespace vitrine
