#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace vitrine {

/// Something a user can cause and fix: "who: what was wrong, with the value; the remedy".
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Something the user wrote cannot be meant: an unknown key or name, a value of the wrong type or
/// out of its range, on the command line or in a recipe. The program then ends with exit code 2.
class UsageError : public Error {
 public:
  using Error::Error;
};

/// "1 channel", "3 channels".
inline std::string counted(int64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

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

/// Throws `UsageError` with the formatted text.
template <typename... Args>
[[noreturn]] void fail_usage(fmt::format_string<Args...> text, Args&&... args) {
  throw UsageError(fmt::format(text, std::forward<Args>(args)...));
}

/// Throws `UsageError` with the formatted text unless `ok`.
template <typename... Args>
void check_usage(bool ok, fmt::format_string<Args...> text, Args&&... args) {
  if (!ok) fail_usage(text, std::forward<Args>(args)...);
}

/// Calls `f`, which looks only at what the user wrote: an `Error` of it becomes a `UsageError`.
template <typename F>
auto as_usage(F&& f) {
  try {
    return f();
  } catch (const UsageError&) {
    throw;
  } catch (const Error& e) {
    throw UsageError(e.what());
  }
}

}  // namespace vitrine
