#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace vitrine {

/// What an operator took in all, without the operators that it called.
struct OpTime {
  std::string name;
  int64_t calls = 0;
  double milliseconds = 0;
};

/// Times the operators that this thread runs while it lives, backward ones too.
class OpProfile {
 public:
  OpProfile();
  OpProfile(const OpProfile&) = delete;
  OpProfile& operator=(const OpProfile&) = delete;
  ~OpProfile();

  /// The slowest first.
  std::vector<OpTime> by_time() const;

 private:
  uint64_t callback_;
};

}  // namespace vitrine
