#include "vitrine/labs/lab.h"

#include <gtest/gtest.h>

#include <map>
#include <regex>

#include "tests/support/command.h"
#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"
#include "vitrine/plot/markup.h"

namespace vitrine::labs {
namespace {

/// The figures that each lab must leave.
const std::map<std::string, std::vector<std::string>> kFigures = {
    {"1", {"01_attention_weights", "01_scaling_effect", "01_longer_sequence"}},
    {"2", {"02_self_attention_components", "02_multi_head_attention", "02_rnn_vs_attention"}},
    {"3",
     {"03_positional_encoding_sinusoidal", "03_encoding_comparison", "03_relative_position",
      "03_position_effect"}},
    {"4", {"04_transformer_dataflow", "04_attention_patterns", "04_residual_effect"}},
    {"5",
     {"05_sample_sequences", "05_attention_patterns", "05_performance_comparison",
      "05_multihead_analysis", "05_position_importance"}}};

std::string smoke_run(std::vector<std::string> what, const std::string& language,
                      const fs::path& folder) {
  what.insert(what.begin(), "lab");
  what.insert(what.end(), {"--smoke", "--lang", language, "--out", folder.string()});
  const auto outcome = test::run_command(what);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  return outcome.out;
}

/// What a lab or exercise has said and left in a folder of its own.
void expect_taught(const Lab& lab, const Translations& texts, const fs::path& folder,
                   const std::string& text) {
  EXPECT_TRUE(text.starts_with(texts.fill(lab.topic + ".title") + "\n="));
  EXPECT_EQ(text.find('{'), std::string::npos) << text;
  EXPECT_FALSE(std::regex_search(text, std::regex(R"(\bnan\b)"))) << text;
  const auto page = read_file(folder / (lab.topic + ".html"));
  EXPECT_TRUE(test::contains(page, "<html lang=\"" + texts.language() + "\">"));
  EXPECT_TRUE(test::contains(page, "<figure>"));
  EXPECT_TRUE(test::contains(page, "<table>"));
  EXPECT_TRUE(test::contains(read_file(folder / "index.html"), "href=\"" + lab.topic + ".html\""));
}

int64_t figures_in(const fs::path& folder) {
  int64_t count = 0;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() != ".png") continue;
    EXPECT_TRUE(fs::exists(fs::path(entry.path()).replace_extension(".svg"))) << entry.path();
    ++count;
  }
  return count;
}

class EveryLanguage : public testing::TestWithParam<std::string> {};

}  // namespace

TEST_P(EveryLanguage, LabsTeachAndLeaveTheirFigures) {
  const Translations texts(lab_texts(), GetParam());
  for (const auto& [name, lab] : labs()) {
    const test::TemporaryFolder folder;
    const auto text = smoke_run({name}, GetParam(), folder.path());
    expect_taught(lab, texts, folder.path(), text);
    for (const auto& figure : kFigures.at(name))
      for (const auto* format : {".png", ".svg"})
        EXPECT_TRUE(fs::exists(folder / (figure + format))) << figure << format;
    EXPECT_TRUE(fs::exists(folder / (lab.figure + ".png"))) << lab.figure;
  }
}

TEST_P(EveryLanguage, ExercisesTeachAndLeaveAFigure) {
  const Translations texts(lab_texts(), GetParam());
  for (const auto& [name, exercise] : lab_exercises()) {
    const test::TemporaryFolder folder;
    const auto text = smoke_run({"exercise", name}, GetParam(), folder.path());
    expect_taught(exercise, texts, folder.path(), text);
    EXPECT_GE(figures_in(folder.path()), 1) << name;
    EXPECT_TRUE(fs::exists(folder / (exercise.figure + ".png"))) << exercise.figure;
  }
}

INSTANTIATE_TEST_SUITE_P(Labs, EveryLanguage, testing::ValuesIn(lab_texts().languages()),
                         [](const auto& language) { return language.param; });

TEST(LabCommand, TheLearnersSentencesAreTaken) {
  const test::TemporaryFolder folder;
  const auto text =
      smoke_run({"exercise", "sentence", "The cat sat on the mat.", "나는 너를 <사랑해> {x}"}, "ko",
                folder.path());
  EXPECT_TRUE(test::contains(text, "cat"));
}

TEST(LabCommand, TheMapsOfVarianceHaveTheirScale) {
  const test::TemporaryFolder folder;
  smoke_run({"2"}, "en", folder.path());
  const auto label = Translations(lab_texts(), "en").at("lab2.heads.variance");
  EXPECT_TRUE(test::contains(read_file(folder / "02_multi_head_attention.svg"), label));
}

TEST(LabCommand, TheIndexRepeatsTheFolder) {
  const test::TemporaryFolder folder;
  const auto out = folder / "a b";
  smoke_run({"1"}, "en", out);
  EXPECT_TRUE(test::contains(read_file(out / "index.html"),
                             plot::escape_markup("lab 2 --lang en --out '" + out.string() + "'")));
}

TEST(LabCommand, RefusesWhatItDoesNotKnow) {
  const auto error = [](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "lab");
    const auto outcome = test::run_command(arguments);
    EXPECT_EQ(outcome.code, 2);
    EXPECT_TRUE(outcome.out.empty());
    return outcome.err;
  };
  EXPECT_TRUE(test::contains(error({"6"}), "(known: 1, 2, 3, 4, 5, all, exercise, quiz)"));
  EXPECT_EQ(error({"9"}).find("did you mean"), std::string::npos);
  EXPECT_EQ(error({"1", "--lang", "fr"}).find("did you mean"), std::string::npos);
  EXPECT_TRUE(test::contains(error({"1", "--lang", "kr"}), "did you mean 'ko'?"));
  EXPECT_TRUE(test::contains(error({"exercis"}), "did you mean 'exercise'?"));
  EXPECT_TRUE(test::contains(error({"exercise"}), "(known: positions, heads, rnn, sentence)"));
  EXPECT_TRUE(test::contains(error({"exercise", "head"}), "did you mean 'heads'?"));
  EXPECT_TRUE(test::contains(error({"exercise", "heads", "a text"}), "takes no text"));
  EXPECT_TRUE(test::contains(error({"1", "2"}), "lab 1: takes no further argument"));
  EXPECT_TRUE(test::contains(error({"1", "--lang", "tlh"}), "language 'tlh' is not known"));
  EXPECT_EQ(test::run_command({"lab"}).code, 2);
  EXPECT_EQ(test::run_command({"lab", "1", "--seed", "-3"}).code, 2);
}

}  // namespace vitrine::labs
