#include <algorithm>

#include "vitrine/core/error.h"
#include "vitrine/inspect/explain.h"
#include "vitrine/plot/page.h"

namespace vitrine {
namespace {

using plot::Chart;
using plot::Figure;
using plot::HeatMap;
using plot::ImagePanel;
using plot::Matrix;

constexpr int64_t kPositionMaps = 8;  // at most, per row and column

std::string percent(double share) { return fmt::format("{:.1f} %", 100 * share); }

Figure prediction_figure(const Explanation& e) {
  Chart chart{.title = "Most likely classes",
              .y = {.label = "probability (%)", .low = 0, .high = 100}};
  plot::Series bars{.mark = plot::Mark::Bars};
  for (const auto& p : e.predictions) {
    chart.x.names.push_back(p.label);
    bars.y.push_back(100 * p.probability);
  }
  chart.series = {bars};
  const auto& best = e.predictions.front();
  return {.title = fmt::format("{} says: {} ({})", e.model, best.label, percent(best.probability)),
          .columns = 2,
          .panels = {ImagePanel{.title = "What the model sees", .image = e.image}, chart}};
}

Figure rollout_figure(const Explanation& e) {
  auto percents = e.rollout;
  for (auto& value : percents.values) value *= 100;
  return {.title = "Attention rollout: which patches reach the prediction",
          .columns = 2,
          .panels = {ImagePanel{.title = "Image", .image = e.image, .size = 300},
                     ImagePanel{.title = "Rollout over the image",
                                .image = e.image,
                                .heat = percents,
                                .size = 300}},
          .shared_colors = true,
          .color_label = "contribution of each patch (%)"};
}

/// The value that the brightest fiftieth of the patches reach: one outlier would darken all others.
double brightest(const Matrix& map) {
  auto values = map.values;
  const auto place =
      values.begin() + static_cast<int64_t>(0.98 * static_cast<double>(values.size()));
  std::nth_element(values.begin(), place, values.end());
  const auto [low, high] = std::minmax_element(map.values.begin(), map.values.end());
  return *place > *low ? *place : *high;
}

/// Leaves a panel's room white.
ImagePanel blank(double size) {
  Image white(1, 1);
  std::fill_n(white.at(0, 0), white.channels, uint8_t{255});
  return {.image = white, .size = size};
}

/// A map per layer and head; layers run along the longer side. Layers may differ in their heads.
Figure attention_figure(const Explanation& e) {
  const size_t layers = e.heads.size();
  size_t heads = 0;
  for (const auto& layer : e.heads) heads = std::max(heads, layer.size());
  const bool layers_across = layers > heads;
  const auto names = [](const char* what, size_t count) {
    std::vector<std::string> result;
    for (size_t i = 0; i < count; ++i) result.push_back(fmt::format("{} {}", what, i + 1));
    return result;
  };
  const auto layer_names = names("layer", layers), head_names = names("head", heads);
  Figure figure{.title = "What each head attends to",
                .columns = static_cast<int64_t>(std::max(layers, heads)),
                .row_names = layers_across ? head_names : layer_names,
                .column_names = layers_across ? layer_names : head_names};
  const double size = figure.columns <= 4 ? 150 : figure.columns <= 8 ? 110 : 72;
  for (size_t i = 0; i < layers * heads; ++i) {
    const auto& layer = e.heads[layers_across ? i % layers : i / heads];
    const auto head = layers_across ? i / layers : i % heads;
    if (head >= layer.size()) {
      figure.panels.push_back(blank(size));
      continue;
    }
    const auto& map = layer[head];
    figure.panels.push_back(HeatMap{.values = map,
                                    .colors = plot::ColorMap::Inferno,
                                    .high = brightest(map),
                                    .color_bar = false,
                                    .size = size});
  }
  return figure;
}

/// One small map per patch: how alike its position is to every other's.
Figure positions_figure(const Explanation& e) {
  const int64_t step = (std::max(e.rows, e.columns) + kPositionMaps - 1) / kPositionMaps;
  Figure figure{.title = "How alike the positions are",
                .shared_colors = true,
                .color_label = "cosine similarity"};
  for (int64_t r = step / 2; r < e.rows; r += step) {
    figure.row_names.push_back(fmt::format("row {}", r + 1));
    for (int64_t c = step / 2; c < e.columns; c += step) {
      if (figure.row_names.size() == 1)
        figure.column_names.push_back(fmt::format("col. {}", c + 1));
      const auto begin = e.positions.values.begin() + (r * e.columns + c) * e.rows * e.columns;
      figure.panels.push_back(
          HeatMap{.values = {e.rows, e.columns, {begin, begin + e.rows * e.columns}},
                  .high = 1,
                  .size = 64});
    }
  }
  figure.columns = static_cast<int64_t>(figure.column_names.size());
  return figure;
}

/// Writes figures as files and puts them on the page.
class Writer {
 public:
  Writer(plot::Page& page, fs::path folder) : page_(page), folder_(std::move(folder)) {}

  void add(const char* file, const Figure& figure, const std::string& caption) {
    paths.push_back(folder_ / file);
    const auto png = figure.render("png");
    write_file_atomically(paths.back(), png);
    page_.figure({.figure = figure, .caption = caption, .embed = plot::Embed::Png, .png = png});
  }

  std::vector<fs::path> paths;

 private:
  plot::Page& page_;
  fs::path folder_;
};

}  // namespace

std::vector<fs::path> write_explanation(const Explanation& e, const std::string& subject,
                                        const fs::path& folder) {
  make_folder(folder);
  plot::Page page(fmt::format("{}: {}", e.model, subject), "en");
  Writer writer(page, folder);
  const std::string from = e.class_token ? "the class token" : "all tokens on average";

  page.section("Prediction");
  writer.add("prediction.png", prediction_figure(e),
             "Left, the part of the image that the model sees. Right, the probabilities of the "
             "classes it finds most likely.");

  page.section("Attention rollout");
  page.paragraph(fmt::format(
      "The image is cut into {} x {} patches, and every layer mixes what it knows about them. "
      "Rollout follows that mixing through all {} layers: it averages the heads, adds the residual "
      "path and multiplies the layers.",
      e.rows, e.columns, e.heads.size()));
  writer.add("rollout.png", rollout_figure(e),
             "How much each patch contributes to the tokens that the head reads. Bright patches "
             "count most.");

  page.section("Every layer, every head");
  page.paragraph(
      "Each layer has several heads, and each head chooses for itself where to look. Heads often "
      "divide the work: some look nearby, some at the whole image, some at the object.");
  writer.add(
      "attention.png", attention_figure(e),
      fmt::format("Attention weights of {} on the patches, one map per layer and head. "
                  "Each map has its own scale: dark is its smallest weight, bright its largest "
                  "(the top 2 % of the patches share the brightest colour).",
                  from));

  page.section("Position embeddings");
  if (e.positions.rows > 0) {
    page.paragraph(
        "A Transformer knows where a patch is only through the position embedding added to it. Two "
        "patches with similar embeddings look like neighbours to the model.");
    writer.add("positions.png", positions_figure(e),
               "One small map per patch, at the patch's own position: cosine similarity of its "
               "embedding with that of every other patch (1 = the same). A bright spot that moves "
               "along with the patch means that the model knows what is near what; bright rows and "
               "columns mean that it knows rows and columns.");
  } else {
    page.paragraph(
        "This model adds no position embeddings to its patches, so there is nothing to compare.");
  }
  writer.paths.push_back(folder / "explain.html");
  page.save(writer.paths.back());
  return writer.paths;
}

}  // namespace vitrine
