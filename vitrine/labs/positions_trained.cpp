#include "vitrine/labs/positions_parts.h"

#include <algorithm>
#include <sstream>

#include "vitrine/core/mean_std.h"
#include "vitrine/labs/positions_figures.h"
#include "vitrine/labs/tables.h"

namespace vitrine::labs {
namespace {

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

}  // namespace

std::string position_kind_word(const Lesson& lesson, const std::string& kind) {
  return lesson.word("kinds." + kind);
}

std::vector<std::string> order_words(const Lesson& lesson) {
  std::istringstream sentence(lesson.word("order.sentence"));
  Cells words;
  for (std::string word; sentence >> word;) words.push_back(word);
  return words;
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
      table.rows.back().push_back(i == 0 ? fmt::format("{:.4f} ± {:.4f}", summary.mean, summary.std)
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
  lesson.table(worded_table(lesson, "relative.table", std::move(rows)));
  const auto middle = trained.learned_after.size() / 2;
  lesson.say("relative.learned", fmt::arg("near_before", trained.learned_before.front()),
             fmt::arg("near_after", trained.learned_after.front()),
             fmt::arg("distance", middle + 1),
             fmt::arg("far_before", trained.learned_before[middle]),
             fmt::arg("far_after", trained.learned_after[middle]));
  lesson.figure("03_relative_position", relative_figure(lesson, similarity, trained),
                lesson.word("relative.caption"));
}

}  // namespace vitrine::labs
