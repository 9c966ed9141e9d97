#include <algorithm>
#include <cmath>
#include <numbers>
#include <sstream>

#include "vitrine/core/mean_std.h"
#include "vitrine/labs/lab.h"
#include "vitrine/labs/positions/figures.h"
#include "vitrine/labs/positions/numbers.h"

namespace vitrine::labs::positions {
namespace {

std::string position_kind_word(const Lesson& lesson, const std::string& kind) {
  return lesson.word("kinds." + kind);
}

std::vector<std::string> order_words(const Lesson& lesson) {
  std::istringstream sentence(lesson.word("order.sentence"));
  Cells words;
  for (std::string word; sentence >> word;) words.push_back(word);
  return words;
}

/// Means over the seeds at one of the tested lengths, by kind.
std::vector<double> mean_errors(const TrainedPositions& trained, size_t length) {
  std::vector<double> means;
  for (const auto& kind : trained.kinds) means.push_back(mean_std(kind.errors[length]).mean);
  return means;
}

void say_trained(Lesson& lesson, const TrainedPositions& trained) {
  const auto at_first = mean_errors(trained, 0);
  const auto at_last = mean_errors(trained, trained.lengths.size() - 1);
  const auto best = std::min_element(at_first.begin(), at_first.end()) - at_first.begin();
  const double factor = at_first.front() / at_first[best];
  lesson.say(factor > 1.5 ? "trained.best" : "trained.no_gain",
             fmt::arg("kind", position_kind_word(lesson, trained.kinds[best].kind)),
             fmt::arg("error", at_first[best]), fmt::arg("none", at_first.front()),
             fmt::arg("factor", factor));
  const auto post = std::find_if(trained.kinds.begin(), trained.kinds.end(),
                                 [](const TrainedKind& k) { return k.kind == "linear"; });
  lesson.say("trained.linear", fmt::arg("post", at_first[post - trained.kinds.begin()]),
             fmt::arg("pre", at_first.back()), fmt::arg("none", at_first.front()));
  std::vector<double> growth;
  for (size_t i = 0; i < at_first.size(); ++i) growth.push_back(at_last[i] / at_first[i]);
  // The kinds between "none" and "linear_pre" know the order, and can lose it.
  const auto most = std::max_element(growth.begin() + 1, growth.end() - 1) - growth.begin();
  const auto least = std::min_element(at_last.begin() + 1, at_last.end() - 1) - at_last.begin();
  lesson.say("trained.longer", fmt::arg("length", trained.lengths.back()),
             fmt::arg("most", position_kind_word(lesson, trained.kinds[most].kind)),
             fmt::arg("most_from", at_first[most]), fmt::arg("most_to", at_last[most]),
             fmt::arg("least", position_kind_word(lesson, trained.kinds[least].kind)),
             fmt::arg("least_from", at_first[least]), fmt::arg("least_to", at_last[least]),
             fmt::arg("none_to", at_last.front()));
}

void teach_trained_positions(Lesson& lesson, const std::vector<OrderEffect>& effects,
                             const TrainedPositions& trained) {
  lesson.section("trained.title");
  lesson.say("trained.setup", fmt::arg("heads", trained.bias.rows),
             fmt::arg("length", trained.lengths.front()), fmt::arg("waves", trained.waves),
             fmt::arg("epochs", trained.epochs), fmt::arg("seeds", trained.seeds),
             fmt::arg("longest", trained.lengths.back()));
  plot::Table table{lesson.word("trained.table"), {lesson.word("trained.kind")}, {}};
  for (const auto length : trained.lengths)
    table.header.push_back(lesson.word("trained.length", fmt::arg("length", length)));
  for (const auto& kind : trained.kinds) {
    table.rows.push_back({position_kind_word(lesson, kind.kind)});
    for (size_t i = 0; i < trained.lengths.size(); ++i) {
      const auto summary = mean_std(kind.errors[i]);
      table.rows.back().push_back(i == 0 ? mean_std_text(summary, 4)
                                         : fmt::format("{:.4f}", summary.mean));
    }
  }
  lesson.table(table);
  lesson.say("trained.baseline", fmt::arg("error", trained.repeated_last));
  say_trained(lesson, trained);
  lesson.figure("03_position_effect",
                position_effect_figure(lesson, effects, order_words(lesson), trained),
                lesson.word("effect.caption"));
  lesson.figure("03_longer_sequences", longer_waves_figure(lesson, trained),
                lesson.word("longer.caption"));
}

void teach_relative_positions(Lesson& lesson, const Similarity& similarity,
                              const TrainedPositions& trained) {
  lesson.section("relative.title");
  lesson.say("relative.idea");
  lesson.formula("scoreᵢⱼ = qᵢ · kⱼ / √d + b(j - i)");
  std::vector<Cells> rows;
  for (int64_t head = 0; head < trained.bias.rows; ++head) {
    const auto first = trained.bias.values.begin() + head * trained.bias.columns;
    const auto [least, most] = std::minmax_element(first, first + trained.bias.columns);
    rows.push_back({lesson.word("relative.head", fmt::arg("head", head + 1)),
                    std::to_string(most - first), fmt::format("{:.2f}", *most),
                    std::to_string(least - first), fmt::format("{:.2f}", *least)});
  }
  lesson.table("relative.table", std::move(rows));
  const auto middle = trained.learned_after.size() / 2;
  lesson.say("relative.learned", fmt::arg("near_before", trained.learned_before.front()),
             fmt::arg("near_after", trained.learned_after.front()),
             fmt::arg("distance", middle + 1),
             fmt::arg("far_before", trained.learned_before[middle]),
             fmt::arg("far_after", trained.learned_after[middle]));
  lesson.figure("03_relative_position", relative_figure(lesson, similarity, trained),
                lesson.word("relative.caption"));
}

constexpr double kEqual = 1e-6;

std::string from_to(double low, double high) { return fmt::format("{:.2f} … {:.2f}", low, high); }

const OrderEffect& effect_of(const std::vector<OrderEffect>& effects, const std::string& kind) {
  return *std::find_if(effects.begin(), effects.end(),
                       [&](const OrderEffect& e) { return e.kind == kind; });
}

void show_order(Lesson& lesson, const std::vector<OrderEffect>& effects) {
  lesson.section("order.title");
  const auto sentence = lesson.word("order.sentence"), reversed = lesson.word("order.reversed");
  lesson.say("order.question", fmt::arg("sentence", sentence), fmt::arg("reversed", reversed));
  lesson.formula("Attention(P X) = P Attention(X)");
  lesson.say("order.why");
  std::vector<Cells> rows;
  for (const auto& effect : effects)
    rows.push_back({position_kind_word(lesson, effect.kind),
                    fmt::format("{:.1e}", effect.word_change),
                    fmt::format("{:.1e}", effect.mean_change)});
  lesson.table("order.table", std::move(rows));
  const auto& none = effect_of(effects, "none");
  lesson.say(none.word_change < kEqual ? "order.same" : "order.not_same",
             fmt::arg("sentence", sentence), fmt::arg("reversed", reversed),
             fmt::arg("change", none.word_change));
  if (const double change = effect_of(effects, "linear_pre").word_change; change < kEqual)
    lesson.say("order.erased", fmt::arg("change", change));
}

void show_sinusoidal(Lesson& lesson, const Encoding& sinusoidal) {
  lesson.section("sinusoidal.title");
  lesson.formula(
      "PE(pos, 2i)   = sin(pos / 10000^(2i/d))\n"
      "PE(pos, 2i+1) = cos(pos / 10000^(2i/d))");
  const double turn = 2 * std::numbers::pi;
  const auto slowest = static_cast<double>(kEncodingWidth - 2) / kEncodingWidth;
  lesson.say("sinusoidal.idea", fmt::arg("width", kEncodingWidth), fmt::arg("fastest", turn),
             fmt::arg("slowest", turn * std::pow(1e4, slowest)));
  const std::vector<int64_t> channels = {0, 1, 16, 17, kEncodingWidth - 2, kEncodingWidth - 1};
  plot::Table table{lesson.word("sinusoidal.values"), {lesson.word("axis.position")}, {}};
  for (const auto channel : channels)
    table.header.push_back(lesson.word("sinusoidal.wave", fmt::arg("channel", channel)));
  for (const int64_t position : {0, 1, 2, 3, 32, 63}) {
    table.rows.push_back({std::to_string(position)});
    for (const auto channel : channels)
      table.rows.back().push_back(fmt::format("{:.3f}", sinusoidal.table.at(position, channel)));
  }
  lesson.table(table);
  lesson.figure("03_positional_encoding_sinusoidal", sinusoidal_figure(lesson, sinusoidal),
                lesson.word("sinusoidal.caption"));
}

void show_encodings(Lesson& lesson, const std::vector<Encoding>& encodings) {
  lesson.section("compare.title");
  for (const char* kind : {"sinusoidal", "learned", "linear", "relative"})
    lesson.say(fmt::format("compare.{}", kind), fmt::arg("farthest", kFarthestBias));
  std::vector<Cells> rows;
  for (const auto& e : encodings)
    rows.push_back({lesson.word("short." + e.kind), from_to(e.low, e.high),
                    std::to_string(e.distinct), from_to(e.norms.front(), e.norms.back()),
                    fmt::format("{:.2f}", e.to_middle[kTrainedPositions / 2 + 1]),
                    fmt::format("{:.2f}", e.to_middle.back())});
  const auto distances =
      lesson.word("compare.distances_count", fmt::arg("count", 2 * kFarthestBias + 1));
  rows.push_back({lesson.word("short.relative"), "–", distances, "–", "–", "–"});
  lesson.table("compare.table", std::move(rows), fmt::arg("middle", kTrainedPositions / 2),
               fmt::arg("next", kTrainedPositions / 2 + 1),
               fmt::arg("last", kTrainedPositions - 1));
  lesson.figure("03_encoding_comparison", encodings_figure(lesson, encodings),
                lesson.word("compare.caption"));
}

void show_shift(Lesson& lesson, uint64_t seed) {
  constexpr int64_t kPosition = 5, kShift = 3;
  lesson.section("shift.title");
  lesson.say("shift.idea");
  lesson.formula(
      "⎡ sin ω(pos+k) ⎤   ⎡  cos ωk   sin ωk ⎤ ⎡ sin ω pos ⎤\n"
      "⎣ cos ω(pos+k) ⎦ = ⎣ -sin ωk   cos ωk ⎦ ⎣ cos ω pos ⎦");
  const auto pair_text = [](const std::array<double, 2>& pair) {
    return fmt::format("{:.4f}  {:.4f}", pair[0], pair[1]);
  };
  std::vector<Cells> pairs;
  for (const auto& p : rotated_pairs(kPosition, kShift))
    pairs.push_back({fmt::format("{}, {}", 2 * p.pair, 2 * p.pair + 1),
                     fmt::format("{:.3f}", p.angle), pair_text(p.before), pair_text(p.rotated),
                     pair_text(p.after)});
  lesson.table("shift.pairs", std::move(pairs), fmt::arg("from", kPosition),
               fmt::arg("to", kPosition + kShift));
  lesson.say("shift.fit", fmt::arg("positions", kAllPositions));
  const auto fits = shift_fits({1, 4, 16, 64}, seed);
  std::vector<Cells> rows;
  double rotation = 0;
  for (const auto& fit : fits) {
    rows.push_back({std::to_string(fit.shift), fmt::format("{:.1e}", fit.rotation),
                    fmt::format("{:.1e}", fit.sinusoidal), fmt::format("{:.1e}", fit.linear),
                    fmt::format("{:.1e}", fit.learned)});
    rotation = std::max(rotation, fit.rotation);
  }
  lesson.table("shift.fits", std::move(rows));
  lesson.say(rotation < kEqual ? "shift.exact" : "shift.not_exact", fmt::arg("rotation", rotation));
  lesson.say("shift.others");
}

void show_similarity(Lesson& lesson, const Similarity& similarity) {
  lesson.section("similarity.title");
  lesson.say("similarity.idea");
  lesson.formula("PE(p) · PE(q) = Σᵢ cos(ωᵢ (p - q))");
  std::vector<Cells> rows;
  for (const auto& row : similarity.rows)
    rows.push_back({std::to_string(row.distance), fmt::format("{:.3f}", row.sinusoidal),
                    fmt::format("{:.3f}", row.learned), fmt::format("{:.3f}", row.linear)});
  lesson.table("similarity.table", std::move(rows));
  const auto &near = similarity.rows.front(), &far = similarity.rows.back();
  lesson.say("similarity.seen", fmt::arg("spread", similarity.spread),
             fmt::arg("near", near.sinusoidal), fmt::arg("far", far.sinusoidal),
             fmt::arg("distance", far.distance));
}

void show_extrapolation(Lesson& lesson) {
  lesson.section("extrapolation.title");
  lesson.say("extrapolation.idea", fmt::arg("last", kTrainedPositions - 1),
             fmt::arg("next", kTrainedPositions), fmt::arg("end", kAllPositions - 1));
  const auto encodings = extrapolations();
  std::vector<Cells> rows;
  for (const auto& e : encodings)
    rows.push_back({lesson.word("short." + e.kind), from_to(e.trained_low, e.trained_high),
                    from_to(e.low, e.high), fmt::format("{:.0f} %", 100 * e.outside),
                    std::to_string(e.distinct)});
  rows.push_back({lesson.word("short.learned"), lesson.word("extrapolation.learned"),
                  lesson.word("extrapolation.no_rows"), "–", "0"});
  rows.push_back({lesson.word("short.relative"), lesson.word("extrapolation.relative"),
                  lesson.word("extrapolation.clamped", fmt::arg("farthest", kFarthestBias)), "0 %",
                  "–"});
  lesson.table("extrapolation.table", std::move(rows));
  lesson.say("extrapolation.seen", fmt::arg("outside", 100 * encodings.front().outside),
             fmt::arg("farthest", kFarthestBias));
}

}  // namespace

void teach(Lesson& lesson, const LabOptions& options) {
  lesson.say("intro");
  const auto words = static_cast<int64_t>(order_words(lesson).size());
  const auto effects = order_effects(words, options.seed);
  const auto all = encodings(options.seed);
  const auto similarity = position_similarity(options.seed);
  show_order(lesson, effects);
  show_sinusoidal(lesson, all.front());
  show_encodings(lesson, all);
  show_shift(lesson, options.seed);
  show_similarity(lesson, similarity);
  show_extrapolation(lesson);
  const auto trained =
      train_positions(options, lesson.word("trained.progress"), lesson.word("trained.runs"));
  teach_trained_positions(lesson, effects, trained);
  teach_relative_positions(lesson, similarity, trained);
  lesson.section("summary.title");
  lesson.say("summary.text");
}

}  // namespace vitrine::labs::positions
