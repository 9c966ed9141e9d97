#include <fmt/format.h>

#include "vitrine/inspect/explain_figures.h"
#include "vitrine/report/report.h"

namespace vitrine {
namespace {

std::string rollout_result(const Explanation& e) {
  auto text = fmt::format("The rollout of this image spans {}.", describe_attention_map(e.rollout));
  if (e.class_token)
    text += fmt::format(
        " {:.0f} % of it stays with the class token, through the residual connections; the "
        "map shows how the rest is spread over the {}.",
        100 * e.rollout_kept, token_words(e));
  if (e.readout == Readout::Weighted)
    text += fmt::format(" The pooling weights span {}.", describe_attention_map(e.pooling));
  return text;
}

}  // namespace

std::vector<fs::path> write_explanation(const Explanation& e, const std::string& subject,
                                        const fs::path& folder) {
  report::Report page({.title = fmt::format("{}: {}", e.model, subject), .folder = folder});

  page.section("The answer");
  page.figure("prediction.png", prediction_figure(e),
              "Left, the part of the image that the network sees. Right, the probabilities of the "
              "classes that it finds most likely.");

  page.section("Attention rollout");
  page.columns(
      {tokens_text(e) +
           fmt::format(" Every layer mixes what the tokens hold. Rollout follows that "
                       "mixing through all {} layers: it averages the heads, adds the "
                       "residual connection, multiplies the layers, and weighs the last "
                       "layer's tokens as the answer reads them: through {}.",
                       e.heads.size(), readout_text(e)),
       rollout_result(e) +
           " Rollout sees attention only, neither values nor feed-forward layers: it says where "
           "information can come from, not why the network chose this class."});
  page.figure(
      "rollout.png", rollout_figure(e),
      fmt::format("How much of each {} reaches {}, as a multiple of what it would be if all "
                  "counted the same. Red counts more, blue less, white is uniform.",
                  token_word(e), readout_text(e)));

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
    page.figure("positions.png", positions_figure(e),
                fmt::format("One small map per {0}, at its own place: the cosine similarity of its "
                            "position with that of every other {0} (1 = the same).",
                            token_word(e)));
  } else {
    page.paragraph(
        fmt::format("This network adds no positions to its {}, so there is nothing to compare.",
                    token_words(e)));
  }
  auto files = page.figure_files();
  files.push_back(page.save("explain.html"));
  return files;
}

}  // namespace vitrine
