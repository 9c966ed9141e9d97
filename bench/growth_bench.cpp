// Time and memory of a training step against batch, image, tokens, depth and width: measures each
// by `vitrine bench train` in a process of its own, prints a Markdown table of fitted exponents
// beside those of the multiply-adds, and draws a figure. usage: growth_bench PROGRAM FIGURE.png
// [SECONDS_EACH]

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "vitrine/core/error.h"
#include "vitrine/core/line_fit.h"
#include "vitrine/plot/figure.h"

namespace vitrine {
namespace {

/// One factor of the cost: its values, and what `vitrine bench train` is told for each.
struct Factor {
  std::string name, label, network;
  std::vector<int64_t> values;
  std::string (*arguments)(int64_t value);
};

const std::vector<Factor>& factors() {
  static const std::vector<Factor> all = {
      {"batch",
       "images in a batch",
       "vit_c10_small",
       {1, 2, 4, 8, 16, 32, 64, 128, 256, 512},
       [](int64_t v) { return fmt::format("--model vit_c10_small --batch {}", v); }},
      {"image side",
       "pixels of an image's side",
       "vit_ti16, batch 4",
       {32, 64, 128, 256, 512},
       [](int64_t v) { return fmt::format("--model vit_ti16 --batch 4 --image {}", v); }},
      {"tokens",
       "patches of an image",
       "vit_c10_small, batch 16",
       {4, 16, 64, 256, 1024},
       [](int64_t v) {
         const auto patch = 32 / std::llround(std::sqrt(static_cast<double>(v)));
         return fmt::format("--model vit_c10_small --batch 16 patch={}", patch);
       }},
      {"depth",
       "blocks",
       "vit_c10_small, batch 16",
       {1, 2, 4, 8, 16, 32},
       [](int64_t v) { return fmt::format("--model vit_c10_small --batch 16 depth={}", v); }},
      {"width",
       "embedding dimension",
       "vit_c10_small, batch 16",
       {64, 128, 256, 512, 1024},
       [](int64_t v) {
         return fmt::format("--model vit_c10_small --batch 16 dim={} heads={} hidden={}", v, v / 64,
                            4 * v);
       }},
  };
  return all;
}

struct Point {
  double value, milliseconds, megabytes, multiply_adds, gflops;
};

Point measure(const std::string& program, const Factor& factor, int64_t value, double seconds) {
  const auto command = fmt::format("'{}' bench train --json --seconds {} {}", program, seconds,
                                   factor.arguments(value));
  std::FILE* pipe = ::popen(command.c_str(), "r");
  check(pipe != nullptr, "growth: cannot run {}", command);
  std::string text;
  std::array<char, 4096> some{};
  while (const auto count = std::fread(some.data(), 1, some.size(), pipe))
    text.append(some.data(), count);
  check(::pclose(pipe) == 0, "growth: {} failed", command);
  const auto json = nlohmann::json::parse(text);
  const double ms = json["ms_per_step"], gflops = json["gflops"], bytes = json["peak_bytes"];
  return {static_cast<double>(value), ms, 1e-6 * bytes, gflops * 1e6 * ms / 6, gflops};
}

/// The exponent over the last three points, where the constant cost of a step matters least.
double exponent(const std::vector<Point>& points, double (*figure)(const Point&)) {
  std::vector<double> x, y;
  for (const auto& p : std::span(points).last(3)) {
    x.push_back(std::log(p.value));
    y.push_back(std::log(figure(p)));
  }
  return fitted_slope(x, y);
}

plot::Series series(const std::string& name, const std::vector<Point>& points,
                    double (*figure)(const Point&)) {
  plot::Series result{.name = name, .markers = true};
  for (const auto& p : points) {
    result.x.push_back(p.value);
    result.y.push_back(figure(p));
  }
  return result;
}

/// What the time would be if every multiply-add took as long as at the last point.
plot::Series by_multiply_adds(const std::string& name, const std::vector<Point>& points) {
  plot::Series result{.name = name, .stroke = plot::Stroke::Dashed};
  const auto& last = points.back();
  for (const auto& p : points) {
    result.x.push_back(p.value);
    result.y.push_back(last.milliseconds * p.multiply_adds / last.multiply_adds);
  }
  return result;
}

double milliseconds(const Point& p) { return p.milliseconds; }
double megabytes(const Point& p) { return p.megabytes; }
double multiply_adds(const Point& p) { return p.multiply_adds; }

/// One chart has the legend for all.
plot::Chart time_chart(const Factor& factor, const std::vector<Point>& points, bool legend) {
  return {.title = fmt::format("{} ({})", factor.name, factor.network),
          .x = {.label = factor.label, .log = true},
          .y = {.label = "ms per training step", .log = true},
          .series = {series(legend ? "measured" : "", points, milliseconds),
                     by_multiply_adds(legend ? "as the multiply-adds" : "", points)},
          .width = 330};
}

plot::Chart memory_chart(const Factor& factor, const std::vector<Point>& points) {
  return {.x = {.label = factor.label, .log = true},
          .y = {.label = "peak memory, MB", .log = true},
          .series = {series("", points, megabytes)},
          .width = 330};
}

void run(const std::string& program, const fs::path& path, double seconds) {
  plot::check_figure_file(path);
  plot::Figure figure{.title = "Cost of a training step as work grows (fp32)", .columns = 5};
  std::vector<plot::Panel> memory;  // the second row
  fmt::print(
      "| factor | network | values | time grows with | multiply-adds with | memory with | GFLOP/s, "
      "first to last |\n|---|---|---|---|---|---|---|\n");
  for (const auto& factor : factors()) {
    std::vector<Point> points;
    for (const auto value : factor.values) {
      points.push_back(measure(program, factor, value, seconds));
      fmt::print(stderr, "{} {}: {:.3g} ms\n", factor.name, value, points.back().milliseconds);
    }
    fmt::print("| {} | {} | {} to {} | {:.2f} | {:.2f} | {:.2f} | {:.0f} to {:.0f} |\n",
               factor.name, factor.network, factor.values.front(), factor.values.back(),
               exponent(points, milliseconds), exponent(points, multiply_adds),
               exponent(points, megabytes), points.front().gflops, points.back().gflops);
    figure.panels.emplace_back(time_chart(factor, points, /*legend=*/figure.panels.empty()));
    memory.emplace_back(memory_chart(factor, points));
  }
  figure.panels.insert(figure.panels.end(), memory.begin(), memory.end());
  figure.save(path);
}

}  // namespace
}  // namespace vitrine

int main(int argc, char** argv) {
  if (argc < 3) {
    fmt::print(stderr, "usage: growth_bench PROGRAM FIGURE.png [SECONDS_EACH]\n");
    return 2;
  }
  try {
    vitrine::run(argv[1], argv[2], argc > 3 ? std::atof(argv[3]) : 2);
  } catch (const std::exception& e) {
    fmt::print(stderr, "error: {}\n", e.what());
    return 1;
  }
}
