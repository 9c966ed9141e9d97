#include "vitrine/studies/sparse/models.h"

#include "vitrine/core/error.h"
#include "vitrine/models/registry.h"
#include "vitrine/models/sparse_transformer.h"

namespace vitrine::sparse {

std::shared_ptr<SparseTransformer> build_sparse(const std::string& name,
                                                const std::vector<std::string>& overrides) {
  const auto choice = read_model("name: " + name, overrides, "study sparse");
  auto model = std::dynamic_pointer_cast<SparseTransformer>(choice.build());
  check(model != nullptr, "study sparse: {} is no sparse transformer", name);
  return model;
}

}  // namespace vitrine::sparse
