#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace vitrine {

/// Something a user can cause and fix: "who: what was wrong, with the value; the remedy".
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Throws `Error` with the formatted text.
template <typename... Args>
[[noreturn]] void fail(fmt::format_string<Args...> text, Args&&... args) {
  throw Error(fmt::format(text, std::forward<Args>(args)...));
}

/// Throws `Error` with the formatted text unless `ok`.
template <typename... Args>
void check(bool ok, fmt::format_string<Args...> text, Args&&... args) {
  if (!ok) fail(text, std::forward<Args>(args)...);
}

}  // namespace vitrine
