#include "vitrine/studies/sparse/models.h"

#include "vitrine/core/error.h"
#include "vitrine/core/settings.h"
#include "vitrine/models/registry.h"
#include "vitrine/models/sparse_transformer.h"

namespace vitrine::sparse {

std::shared_ptr<SparseTransformer> build_sparse(const std::string& name,
                                                const std::vector<std::string>& overrides) {
  auto settings = Settings::from_text("name: " + name, "study sparse");
  for (const auto& assignment : overrides) settings.override_with(assignment);
  ModelChoice choice;
  settings.read_into(choice);
  auto model = std::dynamic_pointer_cast<SparseTransformer>(choice.build());
  check(model != nullptr, "study sparse: {} is no sparse transformer", name);
  return model;
}

}  // namespace vitrine::sparse
