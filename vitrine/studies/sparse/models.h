#pragma once

#include <memory>
#include <string>
#include <vector>

namespace vitrine {
class SparseTransformer;
}

namespace vitrine::sparse {

/// A sparse transformer of the registry with random weights.
std::shared_ptr<SparseTransformer> build_sparse(const std::string& name,
                                                const std::vector<std::string>& overrides);

}  // namespace vitrine::sparse
