#pragma once

// The families of models, each with the text of its card in docs/models.md.

#include <string>
#include <vector>

namespace vitrine {

/// Whose published weights can be imported, and by which entries of `importers()`.
struct WeightSource {
  std::string whose;
  std::vector<std::string> importers;
};

/// A card: what is written by hand. Its numbers and its figure come from the registry.
struct ModelFamily {
  std::string name;
  std::string figure;                 // the name of its file
  std::vector<std::string> prefixes;  // how the names of its models begin
  std::string idea;                   // what is different, and what it costs
  std::string paper;
  std::string shown;                // the model of the figure
  std::vector<std::string> blocks;  // where its blocks are, as `model_structure` takes them
  std::vector<std::string> recipes{};
  std::vector<WeightSource> weights{};

  bool has(const std::string& model) const;
};

/// Every family. Adding one ends with an entry here.
const std::vector<ModelFamily>& model_families();

/// A model without a card of its own.
struct OtherModel {
  std::string name, recipe;
};
const std::vector<OtherModel>& other_models();

}  // namespace vitrine
