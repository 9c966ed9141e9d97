#pragma once

#include <cstdint>

namespace vitrine {

class ModelChoice;

/// Throws, with the number of bytes, if `copies` of the model's weights are more than the machine's
/// memory. Allocates nothing of that size.
void check_model_fits(const ModelChoice& choice, int64_t copies);

}  // namespace vitrine
