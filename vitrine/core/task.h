#pragma once

#include <array>
#include <cstdint>

namespace vitrine {

/// What a network is asked, and so how its answers are scored. A model and its data must agree.
enum class Task {
  Classes,    // which class? logits (B, N), targets (B) int64 or (B, N) probabilities
  DigitSum,   // what is a + b? logits (B, kSumLogits), targets (B, 3) int64: the sum's digits
  NextValue,  // what is the next value of a sequence? values (B), targets (B) float
  NextToken,  // which token of a vocabulary comes next? logits (B, T, N), targets (B, T) int64
};

/// The values each digit of a sum 0 .. 198 can take: hundreds, tens, units. A network scores every
/// value of every digit, one after the other.
constexpr std::array<int64_t, 3> kSumDigitValues = {2, 10, 10};
constexpr int64_t kSumLogits = 22;

/// The values of a byte.
inline constexpr int64_t kByteValues = 256;

/// A target of Task::NextToken that is not counted: no token comes there.
inline constexpr int64_t kIgnoreIndex = -100;

/// The pairs of numbers 00 .. 99 to add; pair a, b has the index a * 100 + b.
inline constexpr int kAdditionPairs = 10'000;

}  // namespace vitrine
