#include "vitrine/core/registry.h"

#include <gtest/gtest.h>

#include "tests/support/errors.h"
#include "vitrine/core/nearest.h"

namespace vitrine {

TEST(Registry, FindsWhatWasAdded) {
  Registry<int> r("number");
  r.add("one", 1);
  r.add("two", 2);
  EXPECT_EQ(r.get("two"), 2);
  EXPECT_EQ(r.names(), (std::vector<std::string>{"one", "two"}));
}

TEST(Registry, RefusesADuplicate) {
  Registry<int> r("number");
  r.add("one", 1);
  EXPECT_THROW(r.add("one", 2), Error);
}

TEST(Registry, AnUnknownNameThrowsWithTheNearestAndTheKnownOnes) {
  Registry<int> r("model");
  r.add("vit_b16", 1);
  r.add("resnet18", 2);
  const auto message = test::error_of([&] { r.get("vit_b61"); });
  EXPECT_TRUE(test::contains(message, "did you mean 'vit_b16'?"));
  EXPECT_TRUE(test::contains(message, "known: vit_b16, resnet18"));
}

TEST(Nearest, SuggestsOnlyWhatIsNear) {
  EXPECT_EQ(nearest("9", {"1", "2", "all"}), "");
  EXPECT_EQ(nearest("fr", {"en", "ko"}), "");
  EXPECT_EQ(nearest("kr", {"en", "ko"}), "ko");
  EXPECT_EQ(nearest("vti", {"vit", "cct"}), "vit");
  EXPECT_EQ(nearest("epohcs", {"epochs", "seed"}), "epochs");
}

}  // namespace vitrine
