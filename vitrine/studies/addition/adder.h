#pragma once

#include <array>

namespace vitrine {

/// The two kinds of network that learn to add.
enum class Adder { Cnn, Transformer };
inline constexpr std::array kAdders = {Adder::Cnn, Adder::Transformer};

/// One thing for each kind of network.
template <typename T>
struct PerAdder {
  T cnn{}, transformer{};

  T& of(Adder adder) { return adder == Adder::Cnn ? cnn : transformer; }
  const T& of(Adder adder) const { return adder == Adder::Cnn ? cnn : transformer; }
};

}  // namespace vitrine
