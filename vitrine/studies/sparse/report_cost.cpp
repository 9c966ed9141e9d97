#include <fmt/format.h>

#include <algorithm>

#include "vitrine/studies/sparse/growth.h"
#include "vitrine/studies/sparse/measure.h"
#include "vitrine/studies/sparse/report_page.h"

namespace vitrine::sparse {
namespace {

constexpr double kMegabyte = 1e6, kGigabyte = 1e9;

std::string cell(double value) { return value > 0 ? fmt::format("{:.4g}", value) : "–"; }

/// Both kinds of attention over the length, on logarithmic axes; what is not known is left out.
template <typename Row>
plot::Chart length_chart(const std::string& title, const std::string& label,
                         const std::vector<Row>& sparse, const std::vector<Row>& dense,
                         const auto& figure) {
  plot::Chart chart{.title = title,
                    .x = {.label = "tokens n", .log = true},
                    .y = {.label = label, .log = true},
                    .width = 400,
                    .height = 300};
  for (const auto& [name, rows] : {std::pair("sparse", &sparse), std::pair("dense", &dense)}) {
    plot::Series series{.name = name, .markers = true, .color = name[0] == 's' ? 0 : 1};
    for (const auto& row : *rows) {
      if (figure(row) <= 0) continue;
      series.x.push_back(static_cast<double>(row.tokens));
      series.y.push_back(figure(row));
    }
    if (!series.x.empty()) chart.series.push_back(series);
  }
  return chart;
}

void add_charts(ReportPage& page, const std::string& name, const std::string& title,
                const std::vector<plot::Chart>& charts, const std::string& caption) {
  plot::Figure figure{.title = title, .columns = 2};
  for (const auto& chart : charts)
    if (!chart.series.empty()) figure.panels.push_back(chart);
  if (!figure.panels.empty()) page.figure(name, figure, caption);
}

std::string exponent_text(const std::vector<AttentionCost>& costs,
                          double (*figure)(const AttentionCost&)) {
  const auto law = growth_of(costs, figure);
  return law ? fmt::format("n^{:.2f}", law->exponent) : "an unknown power of n";
}

std::string cost_finding(const CostPart& cost) {
  auto text = fmt::format(
      "from n = {} to {} the time of sparse attention grows as {} and its memory as {} (its "
      "pairs: about n^1.5).",
      cost.sparse.front().tokens, cost.sparse.back().tokens, exponent_text(cost.sparse, total_ms),
      exponent_text(cost.sparse, attention_bytes));
  if (cost.dense.empty()) return text;
  const auto& dense = cost.dense.back();
  const auto& sparse = cost.sparse[cost.dense.size() - 1];  // of the same length
  text +=
      fmt::format(" Dense: {} and {}. At n = {} dense attention takes {:.1f} times the time",
                  exponent_text(cost.dense, total_ms), exponent_text(cost.dense, attention_bytes),
                  dense.tokens, dense.total_ms / sparse.total_ms);
  if (sparse.bytes > 0 && dense.bytes > 0)
    text += fmt::format(" and {:.1f} times the memory",
                        attention_bytes(dense) / attention_bytes(sparse));
  return text + ".";
}

std::vector<std::string> step_row(const StepCost& cost) {
  return {cost.pattern, cost.recompute ? "yes" : "no", fmt::format("{:.2f}", cost.seconds),
          cell(static_cast<double>(cost.peak_bytes) / kGigabyte)};
}

std::string step_finding(const StepPart& step) {
  constexpr double kTarget = 3;  // GB
  const double peak = static_cast<double>(step.sparse.peak_bytes) / kGigabyte;
  std::string text;
  if (peak > 0)
    text = fmt::format("with recomputation the step takes {:.2f} GB, {} the target of {:g} GB. ",
                       peak, peak < kTarget ? "below" : "above", kTarget);
  text += fmt::format("The dense pattern takes {:.2f} times the time.",
                      step.dense.seconds / step.sparse.seconds);
  if (step.all_kept)
    text += fmt::format(" Keeping everything instead takes {:.2f} times the time and {:.2f} GB.",
                        step.all_kept->seconds / step.sparse.seconds,
                        static_cast<double>(step.all_kept->peak_bytes) / kGigabyte);
  return text;
}

}  // namespace

void write_cost(ReportPage& page, const CostPart& cost) {
  page.section("Cost of one attention", "cost");
  page.paragraph(fmt::format(
      "Forward and backward pass over one sequence: width 256, 2 heads, queries and keys of half "
      "the width, {} thread(s), median of {} rounds in which both take turns. Sparse: both "
      "halves of the strided pattern, stride about sqrt(n). Dense: matrix product, causal mask, "
      "softmax, matrix product, as LibTorch does them. Memory: the most that the process had "
      "beyond the inputs and the mask.",
      cost.threads, cost.rounds));
  plot::Table table{.title = "Time and memory",
                    .header = {"n", "stride", "sparse (ms)", "dense (ms)", "dense / sparse",
                               "sparse (MB)", "dense (MB)", "dense / sparse"}};
  for (size_t i = 0; i < cost.sparse.size(); ++i) {
    const auto& sparse = cost.sparse[i];
    const auto dense = i < cost.dense.size() ? cost.dense[i] : AttentionCost{};
    const auto ratio = [](double a, double b) { return cell(a > 0 && b > 0 ? a / b : 0); };
    table.rows.push_back(
        {fmt::format("{}", sparse.tokens), fmt::format("{}", sparse.stride), cell(sparse.total_ms),
         cell(dense.total_ms), ratio(dense.total_ms, sparse.total_ms),
         cell(attention_bytes(sparse) / kMegabyte), cell(attention_bytes(dense) / kMegabyte),
         ratio(attention_bytes(dense), attention_bytes(sparse))});
  }
  add_charts(page, "cost", "One attention, forward and backward",
             {length_chart("time", "ms", cost.sparse, cost.dense, total_ms),
              length_chart("memory", "MB", cost.sparse, cost.dense,
                           [](const auto& c) { return attention_bytes(c) / kMegabyte; })},
             "");
  page.table(table);
  if (cost.dense.size() < cost.sparse.size()) {
    const auto skipped = cost.sparse[cost.dense.size()].tokens;
    page.paragraph(
        fmt::format("Dense attention was not run from n = {} on: it would need about "
                    "{:.0f} GB there.",
                    skipped, dense_attention_bytes(skipped) / kGigabyte));
  }
  page.finding(cost_finding(cost));
}

void write_step(ReportPage& page, const StepPart& step) {
  page.section("One training step", "step");
  page.paragraph(fmt::format(
      "{} ({} parameters, {} layers), batch 1, {} tokens, {} thread(s): forward, loss, backward, "
      "Adam. Each row is a process of its own, and its memory is the peak of that process. The "
      "dense pattern runs in the same kernels as the sparse one, so it saves memory too.",
      step.model, step.size.parameters, step.size.layers, step.tokens, step.threads));
  plot::Table table{.title = "Time and memory of a step",
                    .header = {"pattern", "recomputed", "seconds", "peak (GB)"},
                    .rows = {step_row(step.sparse), step_row(step.dense)}};
  if (step.all_kept) table.rows.push_back(step_row(*step.all_kept));
  page.table(table);
  if (!step.all_kept)
    page.paragraph(
        fmt::format("Without recomputation it would need about {:.0f} GB and was not run.",
                    bytes_without_recompute(step.size, step.tokens) / kGigabyte));
  page.finding(step_finding(step));
}

void write_growth(ReportPage& page, const StepPart& step, const CostPart& cost) {
  const auto rows = growth(step, cost, {3072, 12288, 49152, 196608, 1048576});
  page.section("Longer sequences, on paper", "cost,step");
  if (rows.empty()) {
    page.paragraph("This needs the memory of both parts, and this system did not tell it.");
    return;
  }
  page.paragraph(
      fmt::format("A training step of {} with recomputation, scaled from the two parts "
                  "above to other lengths n:",
                  step.model));
  page.preformatted(
      "memory(n)  = 16 P + 4 n [(L + 1) d + 2 (9 d + 2 k + 2 h) + 3 * 256] + A(n) + rest\n"
      "time(n)    = other * n / n0 + L * [forward and backward(n) + forward(n)]\n\n"
      "P parameters (weights, gradients, two moments), L layers, d width, k width of the keys, h\n"
      "hidden width; A(n) and the times of attention: power laws through the measured points;\n"
      "rest and other: what the measured step at n0 takes beyond these formulas.");
  plot::Table table{.title = "A step at other lengths",
                    .header = {"n", "sparse (s)", "dense (s)", "sparse (GB)", "dense (GB)"}};
  for (const auto& row : rows)
    table.rows.push_back({fmt::format("{}", row.tokens), cell(row.sparse.seconds),
                          cell(row.dense.seconds), cell(row.sparse.bytes / kGigabyte),
                          cell(row.dense.bytes / kGigabyte)});
  struct Point {
    int64_t tokens;
    StepEstimate needs;
  };
  std::vector<Point> sparse, dense;
  for (const auto& row : rows) {
    sparse.push_back({row.tokens, row.sparse});
    dense.push_back({row.tokens, row.dense});
  }
  add_charts(
      page, "growth", "A training step, on paper",
      {length_chart("time", "s", sparse, dense, [](const Point& p) { return p.needs.seconds; }),
       length_chart("memory", "GB", sparse, dense,
                    [](const Point& p) { return p.needs.bytes / kGigabyte; })},
      "");
  page.table(table);
  const auto& last = rows.back();
  page.finding(fmt::format(
      "at n = {} a dense step would take {:.3g} times the time and {:.3g} times the memory of a "
      "sparse one ({:.3g} GB against {:.3g} GB).",
      last.tokens, last.dense.seconds / last.sparse.seconds, last.dense.bytes / last.sparse.bytes,
      last.dense.bytes / kGigabyte, last.sparse.bytes / kGigabyte));
}

void write_sampling(ReportPage& page, const SamplingPart& sampling) {
  constexpr double kTarget = 50;
  page.section("Drawing images", "sampling");
  page.paragraph(fmt::format(
      "Networks with random weights, {} thread(s). Cached: whole sequences, keys and values kept "
      "as long as the pattern may ask for them. Uncached: a whole forward pass for each byte; "
      "every pass costs the same, so the mean of a few is taken.",
      sampling.threads));
  plot::Table table{.title = "Bytes per second",
                    .header = {"model", "sequences", "bytes drawn", "cached", "passes timed",
                               "uncached", "cached / uncached"}};
  double least = 0, most = 0;
  for (const auto& s : sampling.speeds) {
    const double ratio = s.cached / s.uncached;
    least = least == 0 ? ratio : std::min(least, ratio);
    most = std::max(most, ratio);
    table.rows.push_back({s.model, fmt::format("{}", s.batch),
                          fmt::format("{}", s.batch * s.tokens), cell(s.cached),
                          fmt::format("{}", s.passes), cell(s.uncached), cell(ratio)});
  }
  page.table(table);
  page.finding(
      fmt::format("keeping keys and values makes drawing {:.0f} to {:.0f} times faster; the "
                  "target of {:g} times is {}.",
                  least, most, kTarget,
                  least >= kTarget  ? "reached everywhere"
                  : most >= kTarget ? "reached in part"
                                    : "missed"));
}

}  // namespace vitrine::sparse
