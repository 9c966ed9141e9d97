#pragma once

#include "vitrine/models/registry.h"

namespace vitrine {
struct SparseTransformerConfig;
}

namespace vitrine::sparse {

/// The settings of a model that is a sparse transformer; throws for other models.
SparseTransformerConfig sparse_config(const ModelChoice& choice);

}  // namespace vitrine::sparse
