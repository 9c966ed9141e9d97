#include <cmath>

#include "vitrine/studies/addition/figures.h"
#include "vitrine/studies/addition/report_writer.h"

namespace vitrine {
namespace {

/// The weight furthest from zero in all maps.
struct Strongest {
  const AttentionMap* map = nullptr;
  size_t row = 0, column = 0;
  double weight = 0;

  explicit Strongest(const std::vector<AttentionMap>& maps) {
    for (const auto& candidate : maps)
      for (size_t i = 0; i < candidate.weights.size(); ++i)
        if (map == nullptr || std::abs(candidate.weights[i]) > std::abs(weight)) {
          map = &candidate;
          row = i / candidate.tokens.size();
          column = i % candidate.tokens.size();
          weight = candidate.weights[i];
        }
  }

  std::string sentence(const std::string& pattern) const {
    return filled(pattern, map->title, map->tokens[row], map->tokens[column], weight);
  }
};

}  // namespace

void write_attention(ReportWriter& writer, const AdditionStudy& study) {
  if (!study.attention) return;
  const auto& a = *study.attention;
  if (a.pair.empty() && a.carry_difference.empty()) return;
  const auto& w = writer.words();
  writer.section(w.attention);
  if (!a.pair.empty()) {
    writer.question(filled(w.attention_question, a.a, a.b));
    writer.figure("attention_pair", attention_figure(a, writer.language()), w.attention_caption);
    writer.findings({Strongest(a.pair).sentence(w.attention_strongest)});
  }
  if (!a.carry_difference.empty()) {
    writer.question(w.carry_question);
    writer.figure("attention_carry", carry_attention_figure(a, writer.language()), w.carry_caption);
    writer.findings({Strongest(a.carry_difference).sentence(w.carry_strongest)});
  }
  writer.paragraph(w.attention_caution);
}

}  // namespace vitrine
