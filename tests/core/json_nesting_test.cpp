#include "vitrine/core/json_nesting.h"

#include <gtest/gtest.h>

namespace vitrine {

TEST(JsonNesting, CountsListsAndObjectsOutsideOfTexts) {
  EXPECT_FALSE(is_nested_deeper("", 0));
  EXPECT_FALSE(is_nested_deeper(R"([{"a": [1]}, [[2]]])", 3));
  EXPECT_TRUE(is_nested_deeper(R"([{"a": [1]}, [[2]]])", 2));
  EXPECT_FALSE(is_nested_deeper(R"(["[[[[", "\"[[[[", "\\"])", 1));
  EXPECT_TRUE(is_nested_deeper(R"(["\\", [1]])", 1));
}

}  // namespace vitrine
