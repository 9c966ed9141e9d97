#include "vitrine/inspect/cards/page.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cctype>

#include "vitrine/core/number_text.h"
#include "vitrine/inspect/cards/families.h"
#include "vitrine/inspect/cards/structure_figure.h"
#include "vitrine/inspect/published_networks.h"
#include "vitrine/inspect/summary.h"
#include "vitrine/models/registry.h"
#include "vitrine/weights/published.h"

namespace vitrine {
namespace {

constexpr const char* kIntroduction = R"(# Models

Every model that `vitrine models` lists, family by family. This page and its figures are written by
`vitrine models --cards docs`; its texts are in `vitrine/inspect/cards/families.cpp`, all numbers come from the models
themselves.

- **Figures** read from left to right. A blue box is a run of equal transformer blocks, a green one of residual blocks of
  convolutions; grey text above the grid is what stands before them: layers with their input and output channels, learned
  tokens and positions by name. The grid is that of the tokens (filled squares beside it have no position), with attention
  windows in orange. "Keys" is said where they are fewer than the tokens; "feed-forward" is its hidden size.
- **Parameters and multiply-adds** are counted here, for one image of the given side (`vitrine summary NAME`).
- **Accuracies** are published figures, not measured here; what was measured is in [results.md](results.md).
- **Recipes** are run by `vitrine train recipes/NAME.yaml` and take CIFAR-10 unless they say otherwise.
- **Weights** of the sources named are read by `vitrine import FILE`, or directly by `predict`, `eval` and `train`
  (`init`); those with a name are fetched by `vitrine weights fetch NAME`.

)";

/// The model that a registered name stands for.
std::string own_name(const std::string& name) {
  const auto& alias = models().get(name).alias_of;
  return alias.empty() ? name : alias.substr(0, alias.find(' '));
}

std::string code(const std::string& text) { return fmt::format("`{}`", text); }

std::string multiply_adds_text(int64_t count) {
  const auto value = static_cast<double>(count);
  if (value >= 1e8) return fmt::format("{:.2f} G", value / 1e9);
  return value >= 1e6 ? fmt::format("{:.1f} M", value / 1e6) : fmt::format("{:.1f} k", value / 1e3);
}

std::string image_side(const ModelSummary& summary) {
  return summary.input.size() == 4 ? fmt::format("{}", summary.input.back()) : "–";
}

std::string aliases_text(const ModelFamily& family) {
  std::vector<std::string> names;
  for (const auto& [name, entry] : models())
    if (!entry.alias_of.empty() && family.has(own_name(name)))
      names.push_back(fmt::format("`{}` = `{}`", name, entry.alias_of));
  if (names.empty()) return "";
  return fmt::format("Other names: {}.\n\n", fmt::join(names, ", "));
}

std::string variants_table(const ModelFamily& family) {
  std::string text =
      "| model | parameters | multiply-adds | image | what it is |\n|---|---|---|---|---|\n";
  for (const auto& [name, entry] : models()) {
    if (!entry.alias_of.empty() || !family.has(name)) continue;
    const auto summary = summarize(ModelChoice(name));
    text += fmt::format("| `{}` | {} | {} | {} | {} |\n", name, with_commas(summary.parameters),
                        multiply_adds_text(summary.multiply_adds), image_side(summary),
                        entry.description);
  }
  return text + "\n";
}

std::string accuracy_text(const std::optional<double>& percent) {
  return percent ? fmt::format("{:.1f}", *percent) : "–";
}

std::string accuracies_table(const ModelFamily& family) {
  std::string rows;
  for (const auto& n : published_networks())
    if (family.has(own_name(n.model)))
      rows += fmt::format("| {} | `{}` | {} | {} | {} | {} | {} |\n", n.network, n.model, n.image,
                          accuracy_text(n.imagenet), accuracy_text(n.real), accuracy_text(n.v2),
                          n.reference);
  if (rows.empty()) return "";
  return "Published top-1 accuracies in %, trained on ImageNet-1k alone:\n\n"
         "| network | model | image | ImageNet | ReaL | V2 | published in |\n"
         "|---|---|---|---|---|---|---|\n" +
         rows + "\n";
}

std::string weights_text(const ModelFamily& family) {
  std::vector<std::string> sources, files;
  for (const auto& source : family.weights) {
    std::vector<std::string> importers;
    for (const auto& name : source.importers) importers.push_back(code(name));
    sources.push_back(fmt::format("{} ({})", source.whose, fmt::join(importers, ", ")));
  }
  for (const auto& [name, w] : published_weights())
    if (models().has(w.model) && family.has(own_name(w.model)))
      files.push_back(w.top1 > 0 ? fmt::format("`{}` ({:.2f} % at {})", name, w.top1, w.image)
                                 : code(name));
  std::string text;
  if (!sources.empty())
    text += fmt::format("Weights can be imported from: {}.\n\n", fmt::join(sources, ", "));
  if (!files.empty())
    text += fmt::format(
        "To fetch by name, with the top-1 accuracy on ImageNet-1k that is published for it: "
        "{}.\n\n",
        fmt::join(files, ", "));
  return text;
}

/// Seen from a folder beside that of the recipes.
std::string recipe_link(const std::string& name) {
  return fmt::format("[`{0}`](../recipes/{0}.yaml)", name);
}

std::string recipes_text(const ModelFamily& family) {
  std::vector<std::string> names;
  for (const auto& recipe : family.recipes) names.push_back(recipe_link(recipe));
  return fmt::format("{}: {}.\n\n", names.size() == 1 ? "Recipe" : "Recipes",
                     fmt::join(names, ", "));
}

/// Links to the cards, by the anchors that Markdown gives to headings.
std::string contents_text() {
  std::vector<std::string> links;
  for (const auto& family : model_families()) {
    auto anchor = family.name;
    for (auto& c : anchor)
      c = c == ' ' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    links.push_back(fmt::format("[{}](#{})", family.name, anchor));
  }
  return fmt::format("{} · [Others](#others)\n\n", fmt::join(links, " · "));
}

CardFile figure_of(const ModelFamily& family) {
  const auto summary = summarize(ModelChoice(family.shown));
  const auto title =
      fmt::format("{}: {} parameters, {} multiply-adds", family.shown,
                  with_commas(summary.parameters), multiply_adds_text(summary.multiply_adds));
  return {fs::path("images/models") / (family.figure + ".svg"),
          structure_svg(title, model_structure(summary, family.blocks))};
}

std::string card_text(const ModelFamily& family, const CardFile& figure) {
  return fmt::format("## {}\n\n{}\n\n{}.\n\n![Structure of {}]({})\n\n", family.name, family.idea,
                     family.paper, family.shown, figure.path.generic_string()) +
         variants_table(family) + aliases_text(family) + recipes_text(family) +
         accuracies_table(family) + weights_text(family);
}

std::string others_text() {
  std::string text =
      "## Others\n\nSmall networks of the labs and studies; they take no images.\n\n"
      "| model | parameters | multiply-adds | what it does | recipe |\n|---|---|---|---|---|\n";
  for (const auto& [name, recipe] : other_models()) {
    const auto summary = summarize(ModelChoice(name));
    text += fmt::format("| `{}` | {} | {} | {} | {} |\n", name, with_commas(summary.parameters),
                        multiply_adds_text(summary.multiply_adds), models().get(name).description,
                        recipe_link(recipe));
  }
  return text;
}

}  // namespace

std::vector<CardFile> model_cards() {
  std::vector<CardFile> files(1);
  std::string cards;
  for (const auto& family : model_families()) {
    files.push_back(figure_of(family));
    cards += card_text(family, files.back());
  }
  files[0] = {"models.md", kIntroduction + contents_text() + cards + others_text()};
  return files;
}

std::vector<fs::path> write_model_cards(const fs::path& folder) {
  std::vector<fs::path> written;
  for (const auto& file : model_cards()) {
    written.push_back(folder / file.path);
    make_folder(written.back().parent_path());
    write_file_atomically(written.back(), file.text);
  }
  return written;
}

}  // namespace vitrine
