#include "vitrine/studies/sparse/models.h"

#include "vitrine/core/settings.h"
#include "vitrine/models/sparse_transformer.h"

namespace vitrine::sparse {
namespace {

/// The fields that `ModelChoice` has for a sparse transformer.
struct NamedConfig {
  std::string name{};
  SparseTransformerConfig config{};

  void visit(Fields& f) {
    f("name", name, "");
    config.visit(f);
  }
};

}  // namespace

SparseTransformerConfig sparse_config(const ModelChoice& choice) {
  NamedConfig named;
  Settings::from_text(to_yaml(choice), "study sparse: " + choice.name()).read_into(named);
  return named.config;
}

}  // namespace vitrine::sparse
