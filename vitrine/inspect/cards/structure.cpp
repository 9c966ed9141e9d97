#include "vitrine/inspect/cards/structure.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <span>

namespace vitrine {
namespace {

using Layers = std::span<const LayerSummary>;

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

/// The part of `name` that `pattern` describes, or "" if it is another place.
std::string place_of(const std::string& name, const std::string& pattern) {
  size_t at = 0;
  for (const char c : pattern) {
    if (at >= name.size() || (c == '#' ? !is_digit(name[at]) : c != name[at])) return "";
    ++at;
    while (c == '#' && at < name.size() && is_digit(name[at])) ++at;
  }
  return at < name.size() && name[at] == '.' ? name.substr(0, at) : "";
}

std::string block_of(const std::string& name, const std::vector<std::string>& patterns) {
  for (const auto& pattern : patterns)
    if (auto place = place_of(name, pattern); !place.empty()) return place;
  return "";
}

/// Of tokens of an image, of which at most two have no place on it; otherwise they are a sequence.
TokenGrid grid_of(int64_t tokens) {
  constexpr int64_t kMostPrefix = 2;
  const auto side = static_cast<int64_t>(std::sqrt(static_cast<double>(tokens)));
  const auto prefix = tokens - side * side;
  if (prefix > kMostPrefix) return sequence_grid(tokens);
  return {.rows = side, .columns = side, .prefix = prefix};
}

/// The size of the n-th dimension from the end.
int64_t from_end(const std::vector<int64_t>& shape, size_t n) { return shape[shape.size() - n]; }

bool is_map(const std::vector<int64_t>& shape) { return shape.size() == 4; }

int64_t width_of(const std::vector<int64_t>& shape) {
  return is_map(shape) ? shape[1] : shape.back();
}

/// The attention of a block. Packed queries, keys and values are (B, T, 3, H, D): fewer keys than
/// tokens are those of a window. Where no layer is named Attention, the softmax tells, (B, H, Tq,
/// Tk).
void read_attention(const LayerSummary& layer, Stage& stage) {
  const auto& in = layer.input;
  if (layer.kind == "Attention" && in[0] > 1) {
    stage.inner = {in[0], grid_of(in[1]), layer.output.back(), layer.heads};
  } else if (layer.kind == "Attention") {
    stage.heads = layer.heads;
    if (layer.keys == layer.output[1]) return;
    if (in.size() == 5)
      stage.window = grid_of(layer.keys).rows;
    else
      stage.keys = grid_of(layer.keys);
  } else if (layer.kind == "Softmax" && in.size() == 4) {
    const auto queries = from_end(in, 2), keys = from_end(in, 1);
    stage.heads = from_end(in, 3);
    if (keys != queries) stage.keys = grid_of(keys);
  }
}

Stage read_block(Layers layers) {
  const auto& output = layers.back().output;
  Stage stage{.before = {}, .attention = !is_map(output), .width = width_of(output), .blocks = 1};
  stage.grid =
      is_map(output) ? TokenGrid{.rows = output[2], .columns = output[3]} : grid_of(output[1]);
  for (const auto& layer : layers) {
    read_attention(layer, stage);
    if (layer.kind == "Linear") stage.hidden = layer.input.back();  // the last one's remains
  }
  return stage;
}

bool alike(const Stage& a, const Stage& b) {
  return b.before.empty() && a.attention == b.attention && a.grid == b.grid && a.width == b.width;
}

/// What a figure says of a layer outside the blocks; "" for norms, activations and sums.
std::string step_text(const LayerSummary& layer) {
  static const std::map<std::string, std::string> words = {
      {"Linear", "linear"}, {"Conv2d", "convolution"}, {"StdConv2d", "convolution"}};
  if (layer.kind == "Parameter") return layer.name.substr(layer.name.rfind('.') + 1);
  if (layer.kind == "MaxPool2d") return "max pooling";
  const auto to = layer.output.empty() ? 0 : width_of(layer.output);
  if (layer.kind == "Embedding") return fmt::format("embedding {} → {}", layer.parameters / to, to);
  const auto word = words.find(layer.kind);
  if (word == words.end()) return "";
  return fmt::format("{} {} → {}", word->second, width_of(layer.input), to);
}

}  // namespace

ModelStructure model_structure(const ModelSummary& summary,
                               const std::vector<std::string>& blocks) {
  ModelStructure result{.input = summary.input, .stages = {}, .head = {}};
  const Layers layers(summary.layers);
  std::vector<std::string> before;
  for (size_t begin = 0; begin < layers.size();) {
    const auto block = block_of(layers[begin].name, blocks);
    if (block.empty()) {
      if (auto text = step_text(layers[begin]); !text.empty()) before.push_back(std::move(text));
      ++begin;
      continue;
    }
    size_t end = begin + 1;
    while (end < layers.size() && block_of(layers[end].name, blocks) == block) ++end;
    auto stage = read_block(layers.subspan(begin, end - begin));
    stage.before = std::move(before);
    before.clear();
    if (!result.stages.empty() && alike(result.stages.back(), stage))
      ++result.stages.back().blocks;
    else
      result.stages.push_back(std::move(stage));
    begin = end;
  }
  result.head = std::move(before);
  return result;
}

}  // namespace vitrine
