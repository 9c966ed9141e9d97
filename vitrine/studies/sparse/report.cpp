#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "vitrine/core/image_files.h"
#include "vitrine/core/progress.h"
#include "vitrine/inspect/pattern_figure.h"
#include "vitrine/studies/sparse/measure.h"

namespace vitrine::sparse {
namespace {

using namespace fmt::literals;
using Rows = std::vector<std::vector<std::string>>;

constexpr double kMegabyte = 1e6, kGigabyte = 1e9;

/// Starts a section with the command that makes it.
void start(StudyReport& r, const std::string& heading, const std::string& parts) {
  r.section(r.text(heading));
  r.preformatted("vitrine study sparse --parts " + parts);
}

/// The table `part`.table with the columns `part`.columns.
void table(StudyReport& r, const std::string& part, const Rows& rows) {
  r.table({r.text(part + ".table"), r.texts().list(part + ".columns"), rows});
}

std::string cell(double value) { return value > 0 ? fmt::format("{:.4g}", value) : "–"; }
std::string number(int64_t value) { return fmt::format("{}", value); }
std::string ratio_cell(double a, double b) { return cell(a > 0 && b > 0 ? a / b : 0); }

/// Time and memory of both kinds of attention over the length, on logarithmic axes; what is not
/// known is left out. `parts` has `sparse` and `dense`.
template <typename Parts>
void length_figure(StudyReport& r, const std::string& name, const Parts& parts,
                   const std::string& time_unit, const auto& time, const std::string& memory_unit,
                   const auto& memory) {
  plot::Figure figure{.title = r.text(name + ".title"), .columns = 2};
  const auto add = [&](const std::string& title, const std::string& unit, const auto& value) {
    plot::Chart chart{.title = r.text(title),
                      .x = {.label = r.text("tokens"), .log = true},
                      .y = {.label = unit, .log = true},
                      .width = 400,
                      .height = 300};
    for (const auto* rows : {&parts.sparse, &parts.dense}) {
      const bool sparse = rows == &parts.sparse;
      plot::Series series{
          .name = r.text(sparse ? "sparse" : "dense"), .markers = true, .color = !sparse};
      for (const auto& row : *rows) {
        if (value(row) <= 0) continue;
        series.x.push_back(static_cast<double>(row.tokens));
        series.y.push_back(value(row));
      }
      if (!series.x.empty()) chart.series.push_back(series);
    }
    if (!chart.series.empty()) figure.panels.push_back(chart);
  };
  add("time", time_unit, time);
  add("memory", memory_unit, memory);
  if (!figure.panels.empty()) r.figure(name, figure, "");
}

/// Small enough that single tokens can be seen.
void write_patterns(StudyReport& r) {
  constexpr int64_t kTokens = 256, kStride = 16, kSummary = 4;
  r.section(r.text("patterns.heading"));
  for (const auto& [name, kind] : pattern_kind_names()) {
    if (kind != PatternKind::Strided && kind != PatternKind::Fixed) continue;
    const AttentionPattern pattern{.kind = kind, .stride = kStride, .summary_tokens = kSummary};
    auto figure = pattern_figure(pattern, kTokens);
    figure.title =
        r.text("patterns.title", "pattern"_a = name, "tokens"_a = kTokens, "stride"_a = kStride,
               "percent"_a = 100 * pattern_density(pattern, kTokens));
    std::get<plot::ImagePanel>(figure.panels[0]).title = r.text("patterns.matrix");
    std::get<plot::ImagePanel>(figure.panels[1]).title =
        r.text("patterns.view", "stride"_a = kStride);
    for (auto& swatch : figure.legend) swatch.name = r.text("patterns.legend." + swatch.name);
    r.figure("pattern-" + name, figure, r.text("patterns.caption", "pattern"_a = name));
  }
}

std::string exponent_text(const StudyReport& r, const std::vector<AttentionCost>& costs,
                          double (*figure)(const AttentionCost&)) {
  const auto law = growth_of(costs, figure);
  return law ? r.text("cost.power", "exponent"_a = law->exponent) : r.text("cost.no_power");
}

void write_cost(StudyReport& r, const CostPart& cost) {
  start(r, "cost.heading", "cost");
  r.say("cost.how", "threads"_a = cost.threads, "rounds"_a = cost.rounds);
  length_figure(r, "cost", cost, "ms", total_ms, "MB",
                [](const auto& c) { return attention_bytes(c) / kMegabyte; });
  Rows rows;
  for (size_t i = 0; i < cost.sparse.size(); ++i) {
    const auto& sparse = cost.sparse[i];
    const auto dense = i < cost.dense.size() ? cost.dense[i] : AttentionCost{};
    rows.push_back({number(sparse.tokens), number(sparse.stride), cell(sparse.total_ms),
                    cell(dense.total_ms), ratio_cell(dense.total_ms, sparse.total_ms),
                    cell(attention_bytes(sparse) / kMegabyte),
                    cell(attention_bytes(dense) / kMegabyte),
                    ratio_cell(attention_bytes(dense), attention_bytes(sparse))});
  }
  table(r, "cost", rows);
  if (cost.dense.size() < cost.sparse.size()) {
    const auto skipped = cost.sparse[cost.dense.size()].tokens;
    r.say("cost.skipped", "tokens"_a = skipped,
          "gigabytes"_a = dense_attention_bytes(skipped) / kGigabyte);
  }
  std::vector<std::string> sentences = {r.text(
      "cost.sparse_growth", "first"_a = cost.sparse.front().tokens,
      "last"_a = cost.sparse.back().tokens, "time"_a = exponent_text(r, cost.sparse, total_ms),
      "memory"_a = exponent_text(r, cost.sparse, attention_bytes))};
  if (!cost.dense.empty()) {
    const auto& dense = cost.dense.back();
    const auto& sparse = cost.sparse[cost.dense.size() - 1];  // of the same length
    sentences.push_back(
        r.text("cost.dense_growth", "time"_a = exponent_text(r, cost.dense, total_ms),
               "memory"_a = exponent_text(r, cost.dense, attention_bytes),
               "tokens"_a = dense.tokens, "ratio"_a = dense.total_ms / sparse.total_ms));
    if (sparse.bytes > 0 && dense.bytes > 0)
      sentences.push_back(r.text("cost.dense_memory",
                                 "ratio"_a = attention_bytes(dense) / attention_bytes(sparse)));
  }
  r.finding(sentences);
}

void write_step(StudyReport& r, const StepPart& step) {
  constexpr double kTarget = 3;  // GB
  start(r, "step.heading", "step");
  r.say("step.how", "model"_a = step.model, "parameters"_a = step.size.parameters,
        "layers"_a = step.size.layers, "tokens"_a = step.tokens, "threads"_a = step.threads);
  const auto gigabytes = [](const StepCost& cost) {
    return static_cast<double>(cost.peak_bytes) / kGigabyte;
  };
  Rows rows;
  for (const auto& cost : {step.sparse, step.dense, step.all_kept})
    if (cost.seconds > 0)
      rows.push_back({cost.pattern, r.text(cost.recompute ? "step.yes" : "step.no"),
                      fmt::format("{:.2f}", cost.seconds), cell(gigabytes(cost))});
  table(r, "step", rows);
  const bool all_kept = step.all_kept.seconds > 0;
  if (!all_kept)
    r.say("step.skipped",
          "gigabytes"_a = bytes_without_recompute(step.size, step.tokens) / kGigabyte);
  std::vector<std::string> sentences;
  if (const double peak = gigabytes(step.sparse); peak > 0)
    sentences.push_back(r.text(peak < kTarget ? "step.below" : "step.above", "peak"_a = peak,
                               "target"_a = kTarget));
  sentences.push_back(r.text("step.dense", "ratio"_a = step.dense.seconds / step.sparse.seconds));
  if (all_kept)
    sentences.push_back(r.text("step.all_kept",
                               "ratio"_a = step.all_kept.seconds / step.sparse.seconds,
                               "gigabytes"_a = gigabytes(step.all_kept)));
  r.finding(sentences);
}

void write_growth(StudyReport& r, const StepPart& step, const CostPart& cost) {
  start(r, "growth.heading", "cost,step");
  const auto estimates = growth(step, cost, {3072, 12288, 49152, 196608, 1048576});
  if (estimates.sparse.empty()) return r.say("growth.unknown");
  r.say("growth.how", "model"_a = step.model);
  r.preformatted(r.text("growth.formula"));
  length_figure(
      r, "growth", estimates, "s", [](const StepEstimate& e) { return e.seconds; }, "GB",
      [](const StepEstimate& e) { return e.bytes / kGigabyte; });
  Rows rows;
  for (size_t i = 0; i < estimates.sparse.size(); ++i) {
    const auto &sparse = estimates.sparse[i], &dense = estimates.dense[i];
    rows.push_back({number(sparse.tokens), cell(sparse.seconds), cell(dense.seconds),
                    cell(sparse.bytes / kGigabyte), cell(dense.bytes / kGigabyte)});
  }
  table(r, "growth", rows);
  const auto &sparse = estimates.sparse.back(), &dense = estimates.dense.back();
  r.finding(
      {r.text("growth.finding", "tokens"_a = sparse.tokens,
              "time"_a = dense.seconds / sparse.seconds, "memory"_a = dense.bytes / sparse.bytes,
              "dense"_a = dense.bytes / kGigabyte, "sparse"_a = sparse.bytes / kGigabyte)});
}

constexpr int64_t kBins = 40;

/// The curves of all runs from some moment of training on.
plot::Chart curves_chart(const StudyReport& r, const TrainedPart& trained, double from,
                         const std::string& title) {
  plot::Chart chart{.title = r.text(title),
                    .x = {.label = r.text("trained.time")},
                    .y = {.label = r.text("trained.bits")},
                    .width = 440,
                    .height = 320};
  int64_t color = 0;
  for (const auto& run : trained.runs) {
    if (run.result.failed()) continue;
    const auto series = [&](const TimeCurve& curve) {
      plot::Series s{.color = color};
      for (size_t i = 0; i < curve.seconds.size(); ++i) {
        if (curve.seconds[i] < from) continue;
        s.x.push_back(curve.seconds[i]);
        s.y.push_back(curve.values[i]);
      }
      return s;
    };
    auto line = series(binned(run.curves.training, kBins)), dots = series(run.curves.validation);
    dots.mark = plot::Mark::Points;
    (line.x.empty() ? dots : line).name = run.name;
    for (auto& s : {line, dots})
      if (!s.x.empty()) chart.series.push_back(s);
    ++color;
  }
  return chart;
}

void write_curves(StudyReport& r, const std::string& part, const TrainedPart& trained) {
  double longest = 0;
  for (const auto& run : trained.runs)
    if (run.result.outcome) longest = std::max(longest, run.result.outcome->seconds);
  plot::Figure figure{.title = r.text("trained." + part), .columns = 2};
  for (const auto& chart : {curves_chart(r, trained, 0, "trained.whole"),
                            curves_chart(r, trained, longest / 2, "trained.half")})
    if (!chart.series.empty()) figure.panels.push_back(chart);
  if (!figure.panels.empty())
    r.figure("training-" + part, figure, r.text("trained.caption", "bins"_a = kBins));
}

void write_runs_table(StudyReport& r, const TrainedPart& trained) {
  const auto bits = [](double value) {
    return std::isfinite(value) ? fmt::format("{:.4f}", value) : "–";
  };
  auto header = r.texts().list("trained.columns");
  header.insert(header.begin(), trained.key.substr(trained.key.find('.') + 1));
  plot::Table table{r.text("trained.table"), header};
  for (const auto& run : trained.runs)
    if (const auto& outcome = run.result.outcome)
      table.rows.push_back({run.name, fmt::format("{:.2f}", 100 * run.pair_fraction),
                            number(outcome->steps), fmt::format("{:.0f}", outcome->seconds),
                            bits(outcome->validation_value()), bits(outcome->test_value())});
    else
      table.rows.push_back(
          {r.text("trained.failed", "run"_a = run.name, "error"_a = run.result.error), "–", "–",
           "–", "–", "–"});
  r.table(table);
}

std::vector<std::string> ranking(const StudyReport& r, const TrainedPart& trained) {
  const auto test = [](const TrainedRun* run) { return run->result.outcome->test_value(); };
  const auto updates = [](const TrainedRun* run) { return run->result.outcome->steps; };
  std::vector<const TrainedRun*> runs;
  for (const auto& run : trained.runs)
    if (run.result.outcome && std::isfinite(test(&run))) runs.push_back(&run);
  if (runs.empty()) return {};
  std::sort(runs.begin(), runs.end(), [&](auto* a, auto* b) { return test(a) < test(b); });
  const auto* best = runs[0];
  if (runs.size() == 1)
    return {r.text("trained.single", "validation"_a = best->result.outcome->validation_value(),
                   "test"_a = test(best), "updates"_a = updates(best),
                   "time"_a = duration_text(best->result.outcome->seconds))};
  std::vector<std::string> others;
  for (size_t i = 1; i < runs.size(); ++i)
    others.push_back(r.text("trained.other", "run"_a = runs[i]->name,
                            "difference"_a = test(runs[i]) - test(best)));
  const auto [fewest, most] = std::minmax_element(
      runs.begin(), runs.end(), [&](auto* a, auto* b) { return updates(a) < updates(b); });
  return {
      r.text("trained.ranking", "best"_a = best->name, "test"_a = test(best),
             "others"_a = fmt::format("{}", fmt::join(others, ", "))),
      updates(*fewest) == updates(*most)
          ? r.text("trained.same_updates", "updates"_a = updates(best))
          : r.text("trained.updates", "fewest"_a = (*fewest)->name, "least"_a = updates(*fewest),
                   "most"_a = (*most)->name, "highest"_a = updates(*most)),
      r.text("trained.one_seed")};
}

void write_trained(StudyReport& r, const std::string& part, const TrainedPart& trained) {
  start(r, "trained." + part, part);
  r.say("trained.question." + part);
  r.say("trained.budget", "seconds"_a = trained.budget, "threads"_a = trained.threads);
  if (std::any_of(trained.runs.begin(), trained.runs.end(),
                  [](const auto& run) { return run.result.stopped(StopReason::OverBudget); }))
    r.say("trained.over_budget");
  write_curves(r, part, trained);
  write_runs_table(r, trained);
  if (const auto sentences = ranking(r, trained); !sentences.empty()) r.finding(sentences);
}

void write_sampling(StudyReport& r, const SamplingPart& sampling) {
  constexpr double kTarget = 50;
  start(r, "sampling.heading", "sampling");
  r.say("sampling.how", "threads"_a = sampling.threads);
  Rows rows;
  std::vector<double> ratios;
  for (const auto& s : sampling.speeds) {
    ratios.push_back(s.cached / s.uncached);
    rows.push_back({s.model, number(s.batch), number(s.batch * s.tokens), cell(s.cached),
                    number(s.passes), cell(s.uncached), cell(ratios.back())});
  }
  table(r, "sampling", rows);
  const auto [least, most] = std::minmax_element(ratios.begin(), ratios.end());
  const auto* verdict = *least >= kTarget  ? "sampling.reached"
                        : *most >= kTarget ? "sampling.reached_partly"
                                           : "sampling.not_reached";
  r.finding({r.text("sampling.finding", "least"_a = *least, "most"_a = *most),
             r.text(verdict, "target"_a = kTarget)});
}

void write_images(StudyReport& r, const ImagesPart& images) {
  constexpr int64_t kColumns = 8;
  start(r, "images.heading", "images");
  for (const auto& set : images.sets) {
    std::vector<Image> panels;
    for (const auto& file : set.files) panels.push_back(read_image(r.folder() / file));
    r.figure(set.name, plot::image_grid(r.text("images." + set.name), panels, {}, kColumns), "");
  }
}

std::vector<std::string> missing_parts(const SparseStudy& study) {
  auto missing = sparse_parts();
  std::erase_if(missing, [&](const auto& part) {
    return study.trained.contains(part) || (part == "cost" && study.cost) ||
           (part == "step" && study.step) || (part == "sampling" && study.sampling) ||
           (part == "images" && study.images);
  });
  return missing;
}

}  // namespace

void write_sparse_report(const SparseStudy& study, const fs::path& folder,
                         const std::vector<std::string>& languages) {
  for (const auto& language : report_languages(sparse_texts(), languages)) {
    StudyReport r(sparse_texts(), language, folder);
    r.say("intro");
    r.missing(missing_parts(study));
    write_patterns(r);
    if (study.cost) write_cost(r, *study.cost);
    if (study.step) write_step(r, *study.step);
    if (study.step && study.cost) write_growth(r, *study.step, *study.cost);
    for (const auto& part : sparse_parts())
      if (const auto trained = study.trained.find(part); trained != study.trained.end())
        write_trained(r, part, trained->second);
    if (study.sampling) write_sampling(r, *study.sampling);
    if (study.images) write_images(r, *study.images);
    r.save();
  }
}

}  // namespace vitrine::sparse
