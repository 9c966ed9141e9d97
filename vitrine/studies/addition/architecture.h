#pragma once

#include <array>

namespace vitrine {

/// The two kinds of network that learn to add.
enum class AdditionArchitecture { Cnn, Transformer };
inline constexpr std::array kArchitectures = {AdditionArchitecture::Cnn,
                                              AdditionArchitecture::Transformer};

/// One thing for each kind of network.
template <typename T>
struct PerArchitecture {
  T cnn{}, transformer{};

  T& of(AdditionArchitecture architecture) {
    return architecture == AdditionArchitecture::Cnn ? cnn : transformer;
  }
  const T& of(AdditionArchitecture architecture) const {
    return architecture == AdditionArchitecture::Cnn ? cnn : transformer;
  }
};

}  // namespace vitrine
