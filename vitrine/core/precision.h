#pragma once

#include "vitrine/core/fields.h"

namespace vitrine {

/// How products with learned weights are computed. Int8 is for trained networks only; Auto, of a
/// recipe, is BFloat16 where the device is fast in it and Float32 elsewhere.
enum class Precision { Float32, BFloat16, Int8, Auto };

/// The precisions in which a trained network can compute.
inline const Choices<Precision>& precision_names() {
  static const Choices<Precision> names = {
      {"fp32", Precision::Float32}, {"bf16", Precision::BFloat16}, {"int8", Precision::Int8}};
  return names;
}

/// What a recipe may ask for.
inline const Choices<Precision>& training_precision_names() {
  static const Choices<Precision> names = {
      {"fp32", Precision::Float32}, {"bf16", Precision::BFloat16}, {"auto", Precision::Auto}};
  return names;
}

/// Of one that is not Auto.
inline const std::string& precision_name(Precision precision) {
  return precision_names().at(static_cast<size_t>(precision)).first;
}

}  // namespace vitrine
