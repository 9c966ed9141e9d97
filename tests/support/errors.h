#pragma once

#include <gtest/gtest.h>

#include <string>

#include "vitrine/core/error.h"

namespace vitrine::test {

/// The message of the `Error` that `f` throws; "" (and a failure) if it throws none.
template <typename F>
std::string error_of(F&& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  ADD_FAILURE() << "no Error was thrown";
  return "";
}

/// Passes if `text` contains `part`.
inline testing::AssertionResult contains(const std::string& text, const std::string& part) {
  if (text.find(part) != std::string::npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "'" << part << "' is not in '" << text << "'";
}

}  // namespace vitrine::test
