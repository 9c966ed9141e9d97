#include "vitrine/core/nearest.h"

#include <algorithm>
#include <numeric>

namespace vitrine {
namespace {

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t substitute = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({substitute, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string nearest(std::string_view name, const std::vector<std::string>& known) {
  std::string best;
  // A name of one or two letters has to keep one of them: 'kr' is near 'ko', '9' is not near '1'.
  const size_t half = name.size() / 2;
  size_t best_distance = (name.size() < 3 ? half : std::max<size_t>(2, half)) + 1;
  for (const auto& candidate : known) {
    const auto [shorter, longer] = std::minmax({name.size(), candidate.size()});
    if (longer - shorter >= best_distance) continue;  // as many edits at least
    const auto distance = edit_distance(name, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string did_you_mean(std::string_view name, const std::vector<std::string>& known) {
  const auto best = nearest(name, known);
  return best.empty() ? "" : "; did you mean '" + best + "'?";
}

}  // namespace vitrine
