#include "vitrine/inspect/explain/sections.h"

#include <fmt/format.h>

#include <algorithm>

#include "vitrine/inspect/explain_figures.h"

namespace vitrine {
namespace {

constexpr int64_t kLargeFilter = 7;  // pixels a side; smaller ones cannot look smooth

std::string rollout_result(const Explanation& e) {
  auto text = fmt::format("The rollout of this image spans {}.",
                          describe_attention_map(*e.map(ExplainMethod::Rollout)));
  if (e.class_token)
    text += fmt::format(
        " {:.0f} % of it stays with the class token, through the residual connections; the "
        "map shows how the rest is spread over the {}.",
        100 * e.rollout_kept, token_words(e));
  if (e.readout == Readout::Weighted)
    text += fmt::format(" The pooling weights span {}.", describe_attention_map(e.pooling));
  return text;
}

/// "averages the heads", "takes the greatest weight of all heads and discards ...".
std::string fusion_text(const RolloutConfig& config) {
  std::string text = config.heads == HeadFusion::Mean  ? "averages the heads"
                     : config.heads == HeadFusion::Max ? "takes the greatest weight of all heads"
                                                       : "takes the least weight of all heads";
  if (config.discard > 0)
    text += fmt::format(", sets the smallest {:.0f} % of each layer's weights to 0",
                        100 * config.discard);
  return text;
}

std::string relevance_text(const Explanation& e) {
  return fmt::format(
      "Relevance (Chefer et al., 2021) weighs every attention weight by the gradient of the "
      "class's logit with respect to it, keeps what is positive, averages the heads and adds up "
      "the ways through all {} layers{}.",
      e.heads.size(),
      e.readout == Readout::Token ? "" : "; the readout counts as one more attention layer");
}

std::string grad_cam_text(const Explanation& e) {
  const auto where = e.readout != Readout::Token || e.heads.empty()
                         ? "the last features"
                         : "the tokens that the last block's attention reads";
  return fmt::format(
      "Grad-CAM (Selvaraju et al., 2017) weighs the channels of {} by the mean gradient of the "
      "class's logit and keeps the positive part of their sum.",
      where);
}

// Sections of the page of one image. Those whose numbers the explanation does not have must not be
// called.

void answer_section(report::Report& page, const Explanation& e) {
  page.section("The answer");
  page.figure("prediction.png", prediction_figure(e),
              "Left, the part of the image that the network sees. Right, the probabilities of the "
              "classes that it finds most likely.");
}

void class_maps_section(report::Report& page, const Explanation& e) {
  page.section(fmt::format("Evidence for {}", e.target.label));
  std::vector<std::string> texts;
  if (e.map(ExplainMethod::Relevance) != nullptr) texts.push_back(relevance_text(e));
  if (e.map(ExplainMethod::GradCam) != nullptr) texts.push_back(grad_cam_text(e));
  if (e.heads.empty())
    texts.push_back(fmt::format("There are no attention maps: {}.", e.no_attention));
  page.columns(texts);
  page.figure("class_maps.png", class_maps_figure(e),
              fmt::format("What speaks for {}, as a multiple of what it would be if all parts "
                          "counted the same. Red counts more, blue less, white is uniform.",
                          e.target.label));
}

void rollout_section(report::Report& page, const Explanation& e) {
  page.section("Attention rollout");
  page.columns(
      {tokens_text(e) +
           fmt::format(" Every layer mixes what the tokens hold. Rollout follows that "
                       "mixing through all {} layers: it {}, adds the "
                       "residual connection, multiplies the layers, and weighs the last "
                       "layer's tokens as the answer reads them: through {}.",
                       e.heads.size(), fusion_text(e.rollout), readout_text(e)),
       rollout_result(e) +
           " Rollout sees attention only, neither values nor feed-forward layers: it says where "
           "information can come from, not why the network chose this class."});
  page.figure(
      "rollout.png", rollout_figure(e),
      fmt::format("How much of each {} reaches {}, as a multiple of what it would be if all "
                  "counted the same. Red counts more, blue less, white is uniform.",
                  token_word(e), readout_text(e)));
}

void heads_section(report::Report& page, const Explanation& e) {
  page.section("Every layer, every head");
  page.columns(
      {fmt::format("Each map shows the attention weights of {}, as multiples of uniform attention. "
                   "All maps share one scale, so a head that attends to everything alike is white, "
                   "and only what departs from uniform has a colour.",
                   query_text(e)),
       fmt::format("H is the entropy of a head's weights divided by the largest possible. {}{}",
                   e.class_token ? ""
                                 : "It is the mean over the queries, while the map is the mean of "
                                   "their weights: a low H with a pale map is a head whose queries "
                                   "attend to different tokens. ",
                   near_uniform_text(e))});
  page.figure("attention.png", attention_figure(e),
              fmt::format("Attention weights of {}, one map per layer and head, beside the image.",
                          query_text(e)));
}

void lens_section(report::Report& page, const Explanation& e) {
  page.section("What each layer would answer");
  page.paragraph(
      "The logit lens lets the final normalisation and the head read the residual stream behind "
      "every block, as if the later blocks were not there. They were trained to read the last one: "
      "what they make of early blocks shows how far the stream already is what the head expects.");
  page.figure("lens.png", lens_figure(e),
              "The probability of the explained class and of the most likely others.");
  plot::Table table{.header = {"behind", "most likely class", "probability (%)"}};
  for (const auto& p : e.lens.followed) table.header.push_back(p.label + " (%)");
  for (size_t i = 0; i < e.lens.layers.size(); ++i) {
    const auto& layer = e.lens.layers[i];
    auto& row = table.rows.emplace_back();
    row = {i == 0 ? "embedding" : fmt::format("block {}", i), layer.best.label,
           fmt::format("{:.1f}", 100 * layer.best.probability)};
    for (const double p : layer.probabilities) row.push_back(fmt::format("{:.1f}", 100 * p));
  }
  page.table(table);
}

}  // namespace

void distance_section(report::Report& page, const Explanation& e, int64_t images) {
  page.section("Attention distance");
  page.paragraph(
      "A head with a small distance looks at its neighbourhood, as a convolution does; one near "
      "the dashed line looks as far as uniform attention.");
  page.figure("distance.png", distance_figure(e),
              images == 1
                  ? "Mean attention distance of every head, by layer."
                  : fmt::format("Mean attention distance of every head, by layer: mean over "
                                "{} images.",
                                images));
}

void faithfulness_section(report::Report& page,
                          const std::vector<std::vector<PerturbationCurves>>& images) {
  const auto scores = faithfulness(images);
  page.section("Which method is faithful");
  page.columns(
      {"An explanation is faithful if the network needs what it calls relevant. Deletion removes "
       "parts of the image, the most relevant first: the probability of the class shall fall "
       "early. "
       "Insertion shows them on a blank image in the same order: it shall rise early. A method "
       "that "
       "is no better than a random order explains nothing.",
       faithfulness_text(scores)});
  page.figure("faithfulness.png", faithfulness_figure(scores),
              fmt::format("Probability of the explained class in {} steps.", kPerturbationSteps));
  page.table(faithfulness_table(scores));
  write_file_atomically(page.folder() / "faithfulness.csv", faithfulness_csv(scores));
}

void weights_sections(report::Report& page, const Explanation& e) {
  if (e.rows > 0) {
    page.section("Positions");
    if (e.positions.rows > 0) {
      page.columns(
          {fmt::format(
               "Attention knows where a {0} lies only through the positional encoding that is "
               "added to it. Two {1} with similar encodings look like neighbours to the "
               "network.",
               token_word(e), token_words(e)),
           "A bright spot that moves along with the map means that the network knows what is near "
           "what; bright rows and columns mean that it knows rows and columns."});
      page.figure(
          "positions.png", positions_figure(e),
          fmt::format("One small map per {0}, at its own place: the cosine similarity of its "
                      "position with that of every other {0} (1 = the same).",
                      token_word(e)));
    } else {
      page.paragraph(
          fmt::format("This network adds no positions to its {}, so there is nothing to compare.",
                      token_words(e)));
    }
  }
  if (!e.filters.empty()) {
    page.section("Filters of the first layer");
    auto text = std::string(
        "The first layer multiplies pixels by filters. Their principal components are the patterns "
        "that it distinguishes.");
    if (e.filters.front().image.width >= kLargeFilter)
      text += " Smooth ones mean that it has learned, noise that it has not.";
    page.paragraph(text);
    page.figure("filters.png", filters_figure(e),
                "Principal components of the filters, the largest first.");
  }
}

std::vector<fs::path> write_explanation(const Explanation& e, const std::string& subject,
                                        const fs::path& folder, const std::string& index) {
  report::Report page({.title = fmt::format("{}: {}", e.model, subject), .folder = folder});
  if (!index.empty()) page.links({{"All images", index}});
  answer_section(page, e);
  if (std::any_of(e.maps.begin(), e.maps.end(),
                  [](const auto& m) { return m.method != ExplainMethod::Rollout; }))
    class_maps_section(page, e);
  if (e.map(ExplainMethod::Rollout) != nullptr) rollout_section(page, e);
  if (!e.lens.layers.empty()) lens_section(page, e);
  if (!e.curves.empty()) faithfulness_section(page, {e.curves});
  if (!e.heads.empty()) {
    heads_section(page, e);
    distance_section(page, e);
  }
  if (index.empty()) weights_sections(page, e);
  auto files = page.figure_files();
  files.push_back(page.save("explain.html"));
  return files;
}

}  // namespace vitrine
