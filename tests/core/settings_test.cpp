#include "vitrine/core/settings.h"

#include <gtest/gtest.h>

#include "tests/support/errors.h"

namespace vitrine {
namespace {

enum class Colour { Red, Green };

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
  Colour colour = Colour::Red;
  Inner inner;

  void visit(Fields& f) {
    f("name", name, "its name");
    f("epochs", epochs, "passes");
    f("fast", fast, "hurry");
    f("colour", colour, Choices<Colour>{{"red", Colour::Red}, {"green", Colour::Green}}, "colour");
    f.group("inner", inner, "more");
  }
};

Outer read(const std::string& text, const std::vector<std::string>& overrides = {}) {
  auto settings = Settings::from_text(text, "r.yaml");
  for (const auto& o : overrides) settings.override_with(o);
  Outer config;
  settings.read_into(config);
  return config;
}

}  // namespace

TEST(Settings, FillsFieldsAndKeepsDefaults) {
  const auto c = read("name: x\ncolour: green\ninner:\n  rate: 5e-3\n");
  EXPECT_EQ(c.name, "x");
  EXPECT_EQ(c.epochs, 3);
  EXPECT_EQ(c.colour, Colour::Green);
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

TEST(Settings, AWrongTypeIsNamedWithValueAndExpectation) {
  EXPECT_TRUE(test::contains(test::error_of([] { read("epochs: many\n"); }),
                             "r.yaml:1: epochs is 'many', expected a whole number"));
  EXPECT_TRUE(test::contains(test::error_of([] { read("colour: gren\n"); }),
                             "colour is 'gren'; did you mean 'green'? (one of red, green)"));
  EXPECT_TRUE(test::contains(test::error_of([] { read("inner: 3\n"); }), "expected a group"));
  EXPECT_TRUE(test::contains(test::error_of([] { read("- a\n"); }), "expected 'key: value'"));
  EXPECT_TRUE(test::contains(test::error_of([] { read("a: [1\n"); }), "not valid YAML"));
  EXPECT_TRUE(test::contains(test::error_of([] { read("", {"epochs"}); }), "key.path=value"));
}

TEST(Settings, TextRoundTripIsIdentity) {
  auto c = read("name: 'yes: 1'\ninner: {rate: 0.1234567890123, betas: [1, 1e-8]}\ncolour: green");
  const auto text = to_yaml(c);
  EXPECT_EQ(to_yaml(read(text)), text);
  EXPECT_DOUBLE_EQ(read(text).inner.rate, 0.1234567890123);
  EXPECT_EQ(read(text).name, "yes: 1");
}

TEST(Settings, MarkdownListsEveryField) {
  const auto text = to_markdown(Outer{});
  EXPECT_TRUE(test::contains(text, "| `inner.rate` | `0.1` | learning rate |"));
  EXPECT_TRUE(test::contains(text, "colour (red, green)"));
}

}  // namespace vitrine
