#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

#include "vitrine/core/error.h"
#include "vitrine/core/number_text.h"
#include "vitrine/inspect/summary.h"

namespace vitrine {
namespace {

using nlohmann::ordered_json;

struct Line {
  std::string name, kind, input, output, parameters, multiply_adds;
};

std::string grouped(int64_t number) { return number == 0 ? "-" : with_commas(number); }

std::string shape_text(const std::vector<int64_t>& shape) {
  return shape.empty() ? "-" : fmt::format("[{}]", fmt::join(shape, ", "));
}

/// The block a layer belongs to: its name up to the first number ("blocks.0" of
/// "blocks.0.attn.qkv"), or "" if it has none.
std::string group_of(const std::string& name) {
  for (size_t begin = 0; begin < name.size();) {
    const auto end = std::min(name.find('.', begin), name.size());
    const auto part = name.substr(begin, end - begin);
    if (std::all_of(part.begin(), part.end(), [](unsigned char c) { return std::isdigit(c); }))
      return name.substr(0, end);
    begin = end + 1;
  }
  return "";
}

Line line_of(const LayerSummary& layer, std::string name) {
  return {std::move(name),           layer.kind,
          shape_text(layer.input),   shape_text(layer.output),
          grouped(layer.parameters), grouped(layer.multiply_adds)};
}

/// A line per layer, and one before each block of several layers with its sums.
std::vector<Line> lines_of(const std::vector<LayerSummary>& layers) {
  std::vector<Line> lines;
  for (size_t begin = 0; begin < layers.size();) {
    const auto group = group_of(layers[begin].name);
    size_t end = begin + 1;
    while (!group.empty() && end < layers.size() && group_of(layers[end].name) == group) ++end;
    if (end == begin + 1) {
      lines.push_back(line_of(layers[begin], layers[begin].name));
      begin = end;
      continue;
    }
    int64_t parameters = 0, multiply_adds = 0;
    for (size_t i = begin; i < end; ++i) {
      parameters += layers[i].parameters;
      multiply_adds += layers[i].multiply_adds;
    }
    lines.push_back({group, "", shape_text(layers[begin].input), shape_text(layers[end - 1].output),
                     grouped(parameters), grouped(multiply_adds)});
    for (; begin < end; ++begin) {
      const auto& name = layers[begin].name;
      lines.push_back(
          line_of(layers[begin],
                  "  " + (name == group ? layers[begin].kind : name.substr(group.size() + 1))));
    }
  }
  return lines;
}

double megabytes(int64_t bytes) { return static_cast<double>(bytes) / 1e6; }

}  // namespace

std::string summary_text(const std::string& title, const ModelSummary& s) {
  auto lines = lines_of(s.layers);
  lines.insert(lines.begin(), {"Layer", "Kind", "Input", "Output", "Parameters", "Multiply-adds"});
  const auto widest = [&](std::string Line::*column) {
    size_t width = 0;
    for (const auto& line : lines) width = std::max(width, (line.*column).size());
    return width;
  };
  const size_t a = widest(&Line::name), b = widest(&Line::kind), c = widest(&Line::input),
               d = widest(&Line::output), e = widest(&Line::parameters),
               f = widest(&Line::multiply_adds);
  const auto rule = [&](char mark) { return std::string(a + b + c + d + e + f + 10, mark) + "\n"; };
  auto text = title + "\n" + rule('=');
  for (size_t i = 0; i < lines.size(); ++i) {
    const auto& l = lines[i];
    text += fmt::format("{:<{}}  {:<{}}  {:<{}}  {:<{}}  {:>{}}  {:>{}}\n", l.name, a, l.kind, b,
                        l.input, c, l.output, d, l.parameters, e, l.multiply_adds, f);
    if (i == 0) text += rule('=');
  }
  text += rule('=');
  const auto number = [&](const char* name, const std::string& value) {
    text += fmt::format("{:<32}{:>16}\n", name, value);
  };
  number("Total parameters", grouped(s.parameters));
  number("Trainable parameters", grouped(s.trainable));
  number("Multiply-adds (G)", fmt::format("{:.2f}", static_cast<double>(s.multiply_adds) / 1e9));
  text += rule('-');
  number("Input size (MB)", fmt::format("{:.2f}", megabytes(s.input_bytes)));
  number("Forward/backward pass size (MB)", fmt::format("{:.2f}", megabytes(s.pass_bytes)));
  number("Parameters size (MB)", fmt::format("{:.2f}", megabytes(s.parameter_bytes)));
  number("Estimated total size (MB)",
         fmt::format("{:.2f}", megabytes(s.input_bytes + s.pass_bytes + s.parameter_bytes)));
  text += rule('-');
  text +=
      "For one example. Multiply-adds: 1 per multiply-and-add of a matrix product or convolution\n"
      "(biases not counted), 5 per element of LayerNorm and GroupNorm, 2 of BatchNorm, 0 "
      "elsewhere\n"
      "(as fvcore).\n"
      "Forward/backward pass: every layer's output, twice (value and gradient). MB: 10^6 bytes.\n";
  return text;
}

std::string summary_json(const std::string& name, const ModelSummary& s) {
  auto layers = ordered_json::array();
  for (const auto& layer : s.layers)
    layers.push_back({{"name", layer.name},
                      {"kind", layer.kind},
                      {"input", layer.input},
                      {"output", layer.output},
                      {"parameters", layer.parameters},
                      {"multiply_adds", layer.multiply_adds}});
  const ordered_json json = {{"model", name},
                             {"input", s.input},
                             {"parameters", s.parameters},
                             {"trainable", s.trainable},
                             {"multiply_adds", s.multiply_adds},
                             {"input_bytes", s.input_bytes},
                             {"pass_bytes", s.pass_bytes},
                             {"parameter_bytes", s.parameter_bytes},
                             {"layers", layers}};
  return json.dump();
}

}  // namespace vitrine
