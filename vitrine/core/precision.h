#pragma once

#include "vitrine/core/fields.h"

namespace vitrine {

/// How products with learned weights are computed. Int8 is for trained networks only.
enum class Precision { Float32, BFloat16, Int8 };

/// The precisions in which a trained network can compute.
inline const Choices<Precision>& precision_names() {
  static const Choices<Precision> names = {
      {"fp32", Precision::Float32}, {"bf16", Precision::BFloat16}, {"int8", Precision::Int8}};
  return names;
}

inline const std::string& precision_name(Precision precision) {
  return precision_names().at(static_cast<size_t>(precision)).first;
}

}  // namespace vitrine
