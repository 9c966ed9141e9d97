#include "vitrine/core/settings.h"

#include <gtest/gtest.h>

#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"
#include "vitrine/core/choice.h"
#include "vitrine/core/files.h"

namespace vitrine {
namespace {

enum class Color { Red, Green };

struct Inner {
  double rate = 0.1;
  std::vector<double> betas = {0.9, 0.999};

  void visit(Fields& f) {
    f("rate", rate, "learning rate");
    f("betas", betas, "moments");
  }
};

struct Outer {
  std::string name;
  int64_t epochs = 3;
  bool fast = false;
  Color color = Color::Red;
  Inner inner;

  void visit(Fields& f) {
    f("name", name, "its name");
    f("epochs", epochs, "passes");
    f("fast", fast, "hurry");
    f("color", color, Choices<Color>{{"red", Color::Red}, {"green", Color::Green}}, "color");
    f.group("inner", inner, "more");
  }
};

/// A dog or a bird: each has a setting of its own.
struct Animal {
  static constexpr const char *kKey = "animal", *kList = "animals";
  static std::unique_ptr<Animal> make(const std::string& name) {
    check(name == "dog" || name == "bird", "animal '{}' is not known", name);
    return std::make_unique<Animal>(Animal{.setting = name == "dog" ? "legs" : "wings"});
  }
  std::unique_ptr<Animal> clone() const { return std::make_unique<Animal>(*this); }
  void visit(Fields& f) { f(setting, count, "how many"); }

  std::string setting;
  int64_t count = 2;
};

struct Zoo {
  Choice<Animal> animal{"dog"};
  std::string place;
  int64_t visitors = 1;

  void visit(Fields& f) {
    f.choice("animal", animal, "who lives there");
    f.path("place", place, "a folder");
    f("visitors", visitors, "how many");
  }
};

template <typename Config>
Config filled(Settings settings, const std::vector<std::string>& overrides = {}) {
  for (const auto& o : overrides) settings.override_with(o);
  Config config;
  settings.read_into(config);
  return config;
}

Zoo zoo(const std::string& text, const std::vector<std::string>& overrides = {}) {
  return filled<Zoo>(Settings::from_text(text, "zoo.yaml"), overrides);
}

Outer read(const std::string& text, const std::vector<std::string>& overrides = {}) {
  auto settings = Settings::from_text(text, "r.yaml");
  for (const auto& o : overrides) settings.override_with(o);
  Outer config;
  settings.read_into(config);
  return config;
}

}  // namespace

TEST(Settings, FillsFieldsAndKeepsDefaults) {
  const auto c = read("name: x\ncolor: green\ninner:\n  rate: 5e-3\n");
  EXPECT_EQ(c.name, "x");
  EXPECT_EQ(c.epochs, 3);
  EXPECT_EQ(c.color, Color::Green);
  EXPECT_DOUBLE_EQ(c.inner.rate, 5e-3);
}

TEST(Settings, OverridesWin) {
  const auto c =
      read("epochs: 4\n", {"epochs=9", "inner.rate=2", "inner.betas=[0.5]", "fast=true"});
  EXPECT_EQ(c.epochs, 9);
  EXPECT_DOUBLE_EQ(c.inner.rate, 2);
  EXPECT_EQ(c.inner.betas, std::vector<double>{0.5});
  EXPECT_TRUE(c.fast);
}

TEST(Settings, AnUnknownKeyIsNamedWithFileLineAndNearest) {
  const auto message = test::error_of([] { read("name: x\n\nepohcs: 4\n"); });
  EXPECT_TRUE(test::contains(message, "r.yaml:3"));
  EXPECT_TRUE(test::contains(message, "did you mean 'epochs'?"));
}

TEST(Settings, AnUnknownKeyInAGroupOrOverrideIsNamedWithItsPath) {
  EXPECT_TRUE(test::contains(test::error_of([] { read("inner:\n  rte: 4\n"); }),
                             "r.yaml:2: unknown key 'inner.rte'; did you mean 'rate'?"));
  EXPECT_TRUE(test::contains(test::error_of([] { read("name: x", {"inner.rte=4"}); }),
                             "command line: unknown key 'inner.rte'"));
}

TEST(Settings, AKeyOfAnotherPlaceIsSuggestedWithItsPath) {
  EXPECT_TRUE(test::contains(test::error_of([] { read("", {"rate=4"}); }),
                             "command line: unknown key 'rate'; did you mean 'inner.rate'?"));
  EXPECT_TRUE(test::contains(test::error_of([] { read("", {"outer.inner.rate=4"}); }),
                             "unknown key 'outer'; did you mean 'inner.rate'?"));
  EXPECT_TRUE(test::contains(test::error_of([] { read("inner: {epochs: 4}\n"); }),
                             "r.yaml:1: unknown key 'inner.epochs'; did you mean 'epochs'?"));
}

TEST(Settings, NumbersThatAreNotFiniteAreRefused) {
  for (const auto* value : {".inf", "-.inf", ".nan", "[0.9, .inf]"}) {
    const auto key = value[0] == '[' ? "inner.betas" : "inner.rate";
    EXPECT_TRUE(test::contains(
        test::error_of([&] { read("", {fmt::format("{}={}", key, value)}); }),
        fmt::format("command line: {} is '{}', expected finite numbers only", key, value)));
  }
}

TEST(Settings, WhatIsRefusedIsTheUsersToCorrect) {
  for (const auto* text : {"epohcs: 4\n", "epochs: many\n", "color: gren\n", "inner: 3\n",
                           "a: [1\n", "name: a\nname: b\n", "inner: {rate: .inf}\n"})
    EXPECT_THROW(read(text), UsageError) << text;
  EXPECT_THROW(read("", {"epochs"}), UsageError);
}

TEST(Settings, AWrongTypeIsNamedWithValueAndExpectation) {
  EXPECT_TRUE(test::contains(test::error_of([] { read("epochs: many\n"); }),
                             "r.yaml:1: epochs is 'many', expected a whole number"));
  EXPECT_TRUE(test::contains(test::error_of([] { read("color: gren\n"); }),
                             "color is 'gren'; did you mean 'green'? (one of red, green)"));
  EXPECT_TRUE(test::contains(test::error_of([] { read("inner: 3\n"); }), "expected a group"));
  EXPECT_TRUE(test::contains(test::error_of([] { read("- a\n"); }), "expected 'key: value'"));
  EXPECT_TRUE(test::contains(test::error_of([] { read("a: [1\n"); }), "not valid YAML"));
  EXPECT_TRUE(test::contains(test::error_of([] { read("", {"epochs"}); }), "key.path=value"));
}

TEST(Settings, TextRoundTripIsIdentity) {
  auto c = read("name: 'yes: 1'\ninner: {rate: 0.1234567890123, betas: [1, 1e-8]}\ncolor: green");
  const auto text = to_yaml(c);
  EXPECT_EQ(to_yaml(read(text)), text);
  EXPECT_DOUBLE_EQ(read(text).inner.rate, 0.1234567890123);
  EXPECT_EQ(read(text).name, "yes: 1");
  for (const std::string name : {"\r", "a\r", "a\rb", "\r\n", "\t", "\"\r"}) {
    Outer written;
    written.name = name;
    EXPECT_EQ(read(to_yaml(written)).name, name);
  }
}

TEST(Settings, MarkdownListsEveryField) {
  const auto text = to_markdown(Outer{});
  EXPECT_TRUE(test::contains(text, "| `inner.rate` | `0.1` | learning rate |"));
  EXPECT_TRUE(test::contains(text, "color (red, green)"));
}

TEST(Settings, AKeyGivenTwiceIsNamedWithBothLines) {
  const auto message =
      test::error_of([] { read("inner: {rate: 1}\nname: x\ninner: {rate: 2}\n"); });
  EXPECT_TRUE(test::contains(message, "r.yaml:3: key 'inner' is given twice, first in line 1"));
  EXPECT_TRUE(test::contains(test::error_of([] { read("inner:\n  rate: 1\n  rate: 2\n"); }),
                             "r.yaml:3: key 'rate' is given twice, first in line 2"));
  EXPECT_TRUE(test::contains(test::error_of([] { read("", {"inner={rate: 1, rate: 2}"}); }),
                             "key 'rate' is given twice"));
}

TEST(Settings, AKeyThatIsNoWordIsAnError) {
  EXPECT_TRUE(test::contains(test::error_of([] { read("[a, b]: 3\n"); }),
                             "r.yaml:1: a key must be a word"));
  EXPECT_TRUE(
      test::contains(test::error_of([] { read("inner: {{a: 1}: 3}\n"); }), "a key must be a word"));
}

TEST(Settings, ATextThatNamesItselfIsRefused) {
  EXPECT_TRUE(test::contains(test::error_of([] { read("inner: &a [*a]\n"); }), "too deeply"));
}

TEST(Settings, ATextThatIsFarTooLongIsRefused) {
  const auto message =
      test::error_of([] { Settings::from_text("# " + std::string(1 << 16, 'x'), "long.yaml"); });
  EXPECT_TRUE(test::contains(message, "long.yaml: 65538 bytes of YAML are more than 65536"));
}

TEST(Choice, IsANameWithTheSettingsOfWhatItNames) {
  EXPECT_EQ(zoo("{}").animal.name(), "dog");
  const auto bird = zoo("animal: {name: bird, wings: 4}").animal;
  EXPECT_EQ(bird.name(), "bird");
  EXPECT_EQ(bird->count, 4);
  EXPECT_EQ(to_yaml(bird), "name: bird\nwings: 4\n");
  EXPECT_TRUE(test::contains(test::error_of([] { zoo("animal: {name: bird, legs: 4}"); }),
                             "zoo.yaml:1: unknown key 'animal.legs'"));
  EXPECT_TRUE(test::contains(test::error_of([] { zoo("animal: cat"); }), "'cat' is not known"));
  EXPECT_EQ(read_choice<Choice<Animal>>("name: dog", {"legs=3"}, "test")->count, 3);
}

TEST(Choice, ASingleWordMeansItsName) {
  EXPECT_EQ(zoo("animal: bird").animal.name(), "bird");
  EXPECT_EQ(zoo("animal: bird", {"animal.wings=6"}).animal->count, 6);
  EXPECT_EQ(zoo("animal: {name: dog, legs: 3}", {"animal=bird"}).animal->count, 2);
  EXPECT_EQ(zoo("{}", {"animal=bird", "animal.wings=6"}).animal->count, 6);
  EXPECT_EQ(zoo("{}", {"animal.legs=5"}).animal->count, 5);
  EXPECT_TRUE(test::contains(
      test::error_of([] {
        zoo("{}", {"animal.wings=6", "animal=bird"});
      }),
      "'animal=bird' would undo 'animal.wings', which was given before it; give it first"));
  EXPECT_TRUE(test::contains(test::error_of([] { zoo("visitors: 3", {"visitors.many=3"}); }),
                             "'visitors.many=3': visitors is a value"));
}

TEST(Settings, APathLiesRelativeToItsFileAndAnOverrideToTheWorkingDirectory) {
  const test::TemporaryFolder folder;
  write_file_atomically(folder / "zoo.yaml", "place: sub/../here\n");
  const auto file = [&] { return Settings::from_file((folder / "zoo.yaml").string()); };
  EXPECT_EQ(filled<Zoo>(file()).place, (folder / "here").string());
  EXPECT_EQ(filled<Zoo>(file(), {"place=there"}).place, fs::current_path() / "there");
  EXPECT_EQ(filled<Zoo>(file(), {"place=/there"}).place, "/there");
  EXPECT_EQ(filled<Zoo>(file(), {"place="}).place, "");
  EXPECT_EQ(zoo("place: there").place, fs::current_path() / "there");
}

}  // namespace vitrine
