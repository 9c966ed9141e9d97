#include "vitrine/inspect/pattern_figure.h"

#include <fmt/format.h>

#include <algorithm>

#include "vitrine/core/error.h"
#include "vitrine/kernels/attention_plan.h"

namespace vitrine {
namespace {

using plot::Color;

constexpr Color kNothing{245, 245, 245}, kHidden{225, 225, 225}, kFirst{0, 114, 178},
    kSecond{86, 180, 233}, kItself{213, 94, 0};

std::string name_of_kind(const AttentionPattern& pattern) {
  for (const auto& [name, kind] : pattern_kind_names())
    if (kind == pattern.kind) return name;
  return "";
}

Color color_of(const AttentionPattern& p, int64_t i, int64_t j) {
  if (i == j && p.allows(i, j)) return kItself;
  if (!p.allows(i, j)) return p.causal && j > i ? kHidden : kNothing;
  const bool factors = p.kind != PatternKind::Dense && p.kind != PatternKind::Local;
  return factors && !p.first_factor(i, j) ? kSecond : kFirst;
}

void paint(Image& image, int64_t x, int64_t y, Color color) {
  auto* pixel = image.at(x, y);
  pixel[0] = color.red;
  pixel[1] = color.green;
  pixel[2] = color.blue;
}

/// Row i, column j: whether token i sees token j.
Image matrix_image(const AttentionPattern& pattern, int64_t tokens) {
  Image image(tokens, tokens);
  for (int64_t i = 0; i < tokens; ++i)
    for (int64_t j = 0; j < tokens; ++j) paint(image, j, i, color_of(pattern, i, j));
  return image;
}

/// What `token` sees, with all tokens in rows of `columns`; cells are drawn wide or high so that
/// the image is about square.
Image view_image(const AttentionPattern& pattern, int64_t tokens, int64_t token, int64_t columns) {
  const int64_t rows = (tokens + columns - 1) / columns;
  const int64_t wide = std::max<int64_t>(1, rows / columns),
                high = std::max<int64_t>(1, columns / rows);
  Image image(columns * wide, rows * high);
  for (int64_t y = 0; y < image.height; ++y)
    for (int64_t x = 0; x < image.width; ++x) {
      const int64_t j = y / high * columns + x / wide;
      paint(image, x, y, j < tokens ? color_of(pattern, token, j) : Color{255, 255, 255});
    }
  return image;
}

/// What the colours mean, as far as the pattern has them.
std::vector<plot::Swatch> legend_of(const AttentionPattern& p) {
  std::vector<plot::Swatch> legend;
  switch (p.kind) {
    case PatternKind::Strided:
      legend = {{kFirst, "window"}, {kSecond, "stride"}};
      break;
    case PatternKind::Fixed:
      legend = {{kFirst, "own block"}, {kSecond, "summary tokens"}};
      break;
    case PatternKind::Longformer:
      legend = {{kFirst, "window"}, {kSecond, "global tokens"}};
      break;
    case PatternKind::Dense:
    case PatternKind::Local:
      legend = {{kFirst, "attended"}};
  }
  legend.push_back({kItself, "the token itself"});
  legend.push_back({kNothing, "not attended"});
  if (p.causal) legend.push_back({kHidden, "later token (causal mask)"});
  return legend;
}

}  // namespace

double pattern_density(const AttentionPattern& pattern, int64_t tokens) {
  const auto allowed = kernels::attention_plan(pattern, tokens)->pairs;
  const double n = static_cast<double>(tokens);
  return static_cast<double>(allowed) / (pattern.causal ? n * (n + 1) / 2 : n * n);
}

plot::Figure pattern_figure(const AttentionPattern& pattern, int64_t tokens) {
  pattern.validate();
  constexpr int64_t kMaxTokens = 4096;
  check(tokens > 0 && tokens <= kMaxTokens, "inspect: n {} is not between 1 and {}", tokens,
        kMaxTokens);
  const auto columns = std::min(pattern.stride, tokens);
  const auto rows = (tokens + columns - 1) / columns;
  const auto token = std::min(tokens - 1, rows * 5 / 8 * columns + columns / 2);
  return {
      .title = fmt::format("{} attention, {} tokens, stride {}: {:.1f} % of the pairs",
                           name_of_kind(pattern), tokens, pattern.stride,
                           100 * pattern_density(pattern, tokens)),
      .columns = 2,
      .panels = {plot::ImagePanel{.title = "row i, column j: token i attends to token j",
                                  .image = matrix_image(pattern, tokens),
                                  .smooth = false,
                                  .size = 480},
                 plot::ImagePanel{.title = fmt::format("what token {} attends to, in rows of {}",
                                                       token, columns),
                                  .image = view_image(pattern, tokens, token, columns),
                                  .smooth = false,
                                  .size = 480}},
      .legend = legend_of(pattern)};
}

}  // namespace vitrine
