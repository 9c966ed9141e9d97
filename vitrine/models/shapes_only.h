#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string>

namespace vitrine {

/// How much may be made while a `ShapesOnly` lives; what goes beyond throws an `Error` of this
/// text.
struct ShapesLimit {
  int64_t tensors = std::numeric_limits<int64_t>::max();
  int64_t bytes = std::numeric_limits<int64_t>::max();  // that all of them would have taken
  std::string refusal{};
};

/// While it lives, tensors made on this thread have a shape but no memory (torch's meta device), so
/// that a network of any size is built and run in milliseconds. Code that reads values throws.
class ShapesOnly {
 public:
  ShapesOnly() : ShapesOnly(ShapesLimit{}) {}
  explicit ShapesOnly(ShapesLimit limit);
  ShapesOnly(const ShapesOnly&) = delete;
  ShapesOnly& operator=(const ShapesOnly&) = delete;
  ~ShapesOnly();

 private:
  struct Guard;
  std::unique_ptr<Guard> guard_;
};

}  // namespace vitrine
