#include <algorithm>

#include "vitrine/labs/lab.h"
#include "vitrine/labs/self_attention/figures.h"
#include "vitrine/labs/self_attention/numbers.h"

namespace vitrine::labs::self_attention {
namespace {

std::string fixed(double value, int decimals) { return fmt::format("{:.{}f}", value, decimals); }

SentenceModel teach_model(Lesson& lesson, const LabOptions& options) {
  lesson.section("model.title");
  lesson.say("model.why");
  SentenceModel model(options);
  const auto& t = model.training();
  lesson.table(
      {.title = lesson.word("model.table"),
       .header = lesson.words({"model.what", "model.value"}),
       .rows = {{lesson.word("model.sentences"), fmt::format("{}", t.sentences)},
                {lesson.word("model.held_out"), fmt::format("{}", model.held_out().size())},
                {lesson.word("model.vocabulary"), fmt::format("{}", t.vocabulary)},
                {lesson.word("model.parameters"), fmt::format("{}", t.parameters)},
                {lesson.word("model.seconds"), fixed(t.seconds, 1)},
                {lesson.word("model.before"), fixed(t.untrained_perplexity, 1)},
                {lesson.word("model.after"), fixed(t.perplexity, 1)}}});
  lesson.say("model.perplexity", fmt::arg("before", t.untrained_perplexity),
             fmt::arg("after", t.perplexity));
  return model;
}

/// The head whose weights are least spread, which shows best what a head can do.
int64_t sharpest_head(const SentenceAttention& sentence, size_t layer) {
  const auto heads = head_diversity(sentence.layers[layer]).heads;
  return std::min_element(heads.begin(), heads.end(),
                          [](const auto& a, const auto& b) { return a.entropy < b.entropy; }) -
         heads.begin();
}

void teach_parts(Lesson& lesson, const SentenceModel& model, const SentenceAttention& sentence) {
  const auto head = sharpest_head(sentence, /*layer=*/0);
  const auto parts = self_attention_parts(model, kCatSentence, head);
  lesson.section("parts.title");
  lesson.say("parts.idea");
  lesson.formula("Q = X W_Q      K = X W_K      V = X W_V");
  lesson.say("parts.sentence", fmt::arg("sentence", kCatSentence),
             fmt::arg("tokens", sentence.tokens.size()));
  plot::Table table{.title = lesson.word("parts.shapes"),
                    .header = lesson.words({"parts.tensor", "parts.shape"}),
                    .rows = {}};
  for (const auto& shape : parts.shapes)
    table.rows.push_back({lesson.word("parts.shape_of." + shape.key),
                          fmt::format("{}", fmt::join(shape.sizes, " × "))});
  lesson.table(table);
  lesson.say("parts.check", fmt::arg("difference", parts.difference));
  lesson.figure("02_self_attention_components",
                components_figure(lesson, model, sentence, parts, head),
                lesson.word("parts.caption", fmt::arg("head", head + 1)));
}

std::vector<LayerDiversity> measure_diversity(const SentenceModel& model, size_t layers) {
  std::vector<SentenceAttention> untrained, trained;
  for (const auto& sentence : model.held_out()) {
    untrained.push_back(model.read_untrained(sentence));
    trained.push_back(model.read(sentence));
  }
  std::vector<LayerDiversity> result;
  for (size_t layer = 0; layer < layers; ++layer)
    result.push_back({mean_diversity(untrained, layer), mean_diversity(trained, layer)});
  return result;
}

void table_of_views(Lesson& lesson, const std::vector<LayerDiversity>& layers) {
  plot::Table table{.title = lesson.word("heads.view_table"), .header = {""}, .rows = {}};
  for (const auto* key :
       {"own", "before", "start_weight", "rest", "entropy_short", "untrained_short"})
    table.header.push_back(lesson.word(std::string("heads.") + key));
  for (size_t layer = 0; layer < layers.size(); ++layer)
    for (size_t head = 0; head < layers[layer].trained.heads.size(); ++head) {
      const auto& view = layers[layer].trained.heads[head];
      table.rows.push_back(
          {lesson.word("heads.panel", fmt::arg("layer", layer + 1), fmt::arg("head", head + 1)),
           fixed(view.own, 2), fixed(view.before, 2), fixed(view.start, 2), fixed(view.rest, 2),
           fixed(view.entropy, 2), fixed(layers[layer].untrained.heads[head].entropy, 2)});
    }
  lesson.table(table);
}

/// "layer 1, head 4 (0.52)": the trained head with the most weight on something.
std::string head_with_most(const Lesson& lesson, const std::vector<LayerDiversity>& layers,
                           double HeadView::*weight) {
  size_t best_layer = 0, best_head = 0;
  const auto weight_of = [&](size_t layer, size_t head) {
    return layers[layer].trained.heads[head].*weight;
  };
  for (size_t layer = 0; layer < layers.size(); ++layer)
    for (size_t head = 0; head < layers[layer].trained.heads.size(); ++head)
      if (weight_of(layer, head) > weight_of(best_layer, best_head))
        best_layer = layer, best_head = head;
  return lesson.word("heads.most", fmt::arg("layer", best_layer + 1),
                     fmt::arg("head", best_head + 1),
                     fmt::arg("weight", weight_of(best_layer, best_head)));
}

void table_of_diversity(Lesson& lesson, const std::vector<LayerDiversity>& layers) {
  plot::Table table{
      .title = lesson.word("heads.diversity_table"),
      .header = {"", "", lesson.word("heads.variance"), lesson.word("heads.distance")},
      .rows = {}};
  const auto add = [&](size_t layer, const std::string& key, const HeadDiversity& d) {
    table.rows.push_back({lesson.word("heads.layer", fmt::arg("layer", layer + 1)),
                          lesson.word(key), fixed(d.mean_variance, 5), fixed(d.mean_distance, 3)});
  };
  for (size_t i = 0; i < layers.size(); ++i) {
    add(i, "heads.untrained", layers[i].untrained);
    add(i, "heads.trained", layers[i].trained);
  }
  lesson.table(table);
}

void teach_heads(Lesson& lesson, const SentenceModel& model, const SentenceAttention& sentence) {
  const auto layers = measure_diversity(model, sentence.layers.size());
  lesson.section("heads.title");
  lesson.say("heads.idea", fmt::arg("heads", layers.front().trained.heads.size()));
  lesson.formula("headᵢ = Attention(X W_Qᵢ, X W_Kᵢ, X W_Vᵢ)      out = concat(head₁ … head_H) W_O");
  lesson.say("heads.views", fmt::arg("sentences", model.held_out().size()));
  table_of_views(lesson, layers);
  lesson.say("heads.views_seen", fmt::arg("own", head_with_most(lesson, layers, &HeadView::own)),
             fmt::arg("before", head_with_most(lesson, layers, &HeadView::before)),
             fmt::arg("start", head_with_most(lesson, layers, &HeadView::start)),
             fmt::arg("rest", head_with_most(lesson, layers, &HeadView::rest)));
  lesson.say("heads.diversity");
  table_of_diversity(lesson, layers);
  double before = 0, after = 0;
  for (const auto& layer : layers) {
    before += layer.untrained.mean_distance / static_cast<double>(layers.size());
    after += layer.trained.mean_distance / static_cast<double>(layers.size());
  }
  lesson.say(after > before ? "heads.apart" : "heads.together", fmt::arg("before", before),
             fmt::arg("after", after));
  lesson.figure("02_multi_head_attention", multi_head_figure(lesson, model, sentence, layers),
                lesson.word("heads.caption"));
}

void table_of_costs(Lesson& lesson, const CostCurves& costs) {
  plot::Table table{.title = lesson.word("cost.table"), .header = {"n"}, .rows = {}};
  for (const auto* figure : {"chain_short", "milliseconds", "megabytes"})
    for (const auto* layer : {"rnn", "attention"})
      table.header.push_back(lesson.word(std::string("cost.") + layer) + " " +
                             lesson.word(std::string("cost.") + figure));
  for (size_t i = 0; i < costs.lengths.size(); ++i) {
    const auto &rnn = costs.rnn[i], &attention = costs.attention[i];
    table.rows.push_back({fmt::format("{}", costs.lengths[i]), fixed(rnn.chain, 0),
                          fixed(attention.chain, 0), fixed(rnn.milliseconds, 2),
                          fixed(attention.milliseconds, 2), fixed(rnn.megabytes, 2),
                          fixed(attention.megabytes, 2)});
  }
  lesson.table(table);
}

void table_of_exponents(Lesson& lesson, const CostCurves& costs) {
  plot::Table table{.title = lesson.word("cost.exponents", fmt::arg("from", costs.fitted_from),
                                         fmt::arg("to", costs.lengths.back())),
                    .header = {"", lesson.word("cost.rnn"), lesson.word("cost.stated"),
                               lesson.word("cost.attention"), lesson.word("cost.stated")},
                    .rows = {}};
  const auto add = [&](const std::string& key, double LayerCost::*figure, const std::string& rnn,
                       const std::string& attention) {
    table.rows.push_back({lesson.word("cost." + key),
                          fixed(cost_exponent(costs, costs.rnn, figure), 2), rnn,
                          fixed(cost_exponent(costs, costs.attention, figure), 2), attention});
  };
  add("chain", &LayerCost::chain, "O(n)", "O(1)");
  add("multiply_adds", &LayerCost::multiply_adds, "O(n d²)", "O(n² d + n d²)");
  add("time", &LayerCost::milliseconds, "O(n d²)", "O(n² d + n d²)");
  add("memory", &LayerCost::megabytes, "O(n d)", "O(n² + n d)");
  lesson.table(table);
}

void table_of_reach(Lesson& lesson, const ReachCurves& reach) {
  plot::Table table{.title = lesson.word("cost.reach_table"),
                    .header = lesson.words({"cost.distance", "cost.rnn", "cost.attention"}),
                    .rows = {}};
  for (size_t distance = 1; distance < reach.distance.size(); distance *= 2)
    table.rows.push_back({fmt::format("{}", distance), fmt::format("{:.1e}", reach.rnn[distance]),
                          fmt::format("{:.1e}", reach.attention[distance])});
  lesson.table(table);
}

void teach_cost(Lesson& lesson, const LabOptions& options) {
  const std::vector<int64_t> lengths =
      options.smoke ? std::vector<int64_t>{16, 32, 64, 128}
                    : std::vector<int64_t>{16, 32, 64, 128, 256, 512, 1024, 2048};
  lesson.section("cost.title");
  lesson.say("cost.idea");
  lesson.formula("hₜ = tanh(W xₜ + U hₜ₋₁)");
  const auto costs = measure_costs(lengths, options.smoke ? 0.01 : 0.3, options.seed,
                                   lesson.word("cost.progress"));
  lesson.say("cost.measured", fmt::arg("width", costs.width));
  table_of_costs(lesson, costs);
  lesson.say("cost.fit");
  table_of_exponents(lesson, costs);
  const auto &rnn = costs.rnn.back(), &attention = costs.attention.back();
  lesson.say(
      attention.milliseconds < rnn.milliseconds ? "cost.attention_faster" : "cost.rnn_faster",
      fmt::arg("length", lengths.back()), fmt::arg("rnn", rnn.milliseconds),
      fmt::arg("attention", attention.milliseconds),
      fmt::arg("memory", attention.megabytes / rnn.megabytes));
  const auto reach = measure_reach(options.smoke ? 16 : 64, options.smoke ? 2 : 20, options.seed);
  lesson.say("cost.path", fmt::arg("steps", reach.distance.size() - 1));
  table_of_reach(lesson, reach);
  lesson.say("cost.reach_seen", fmt::arg("rnn", reach.rnn_factor),
             fmt::arg("attention", reach.attention_factor));
  lesson.figure("02_rnn_vs_attention", cost_figure(lesson, costs, reach),
                lesson.word("cost.caption"));
}

}  // namespace

void teach(Lesson& lesson, const LabOptions& options) {
  lesson.say("intro");
  const auto model = teach_model(lesson, options);
  const auto sentence = model.read(kCatSentence);
  teach_parts(lesson, model, sentence);
  teach_heads(lesson, model, sentence);
  teach_cost(lesson, options);
  lesson.section("summary.title");
  lesson.say("summary.text");
}

}  // namespace vitrine::labs::self_attention
