#pragma once

#include <cstdint>
#include <string>

namespace vitrine::test {

/// Bytes that a careless or hostile client could send, decided by seed and number alone.
struct FuzzRequest {
  std::string kind, bytes;
  bool half_close = false;  // the client closes its half behind them
};

FuzzRequest fuzz_request(uint64_t seed, uint64_t number);

}  // namespace vitrine::test
