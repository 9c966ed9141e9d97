#pragma once

#include <memory>

namespace vitrine {

/// While it lives, tensors made on this thread have a shape but no memory (torch's meta device), so
/// that a network of any size is built and run in milliseconds. Code that reads values throws.
class ShapesOnly {
 public:
  ShapesOnly();
  ShapesOnly(const ShapesOnly&) = delete;
  ShapesOnly& operator=(const ShapesOnly&) = delete;
  ~ShapesOnly();

 private:
  struct Guard;
  std::unique_ptr<Guard> guard_;
};

}  // namespace vitrine
