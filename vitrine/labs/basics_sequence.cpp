#include <algorithm>
#include <numeric>

#include "vitrine/labs/basics_numbers.h"
#include "vitrine/labs/basics_parts.h"

namespace vitrine::labs {
namespace {

using Names = std::vector<std::string>;

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// "A1", "B1", "A2": the topic's letter and how often it has come up.
Names topic_tokens(const std::vector<int64_t>& topics) {
  Names names;
  std::vector<int64_t> seen(topics.size());
  for (const auto topic : topics)
    names.push_back(fmt::format("{:c}{}", static_cast<char>('A' + topic), ++seen[topic]));
  return names;
}

/// The places of the tokens, topic by topic.
std::vector<int64_t> order_by_topic(const std::vector<int64_t>& topics) {
  std::vector<int64_t> order(topics.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return topics[a] < topics[b]; });
  return order;
}

plot::HeatMap weights_map(const Lesson& lesson, const std::string& key, const LongerSequence& s,
                          const std::vector<int64_t>& order) {
  const auto all = topic_tokens(s.topics);
  plot::Matrix values{s.weights.rows, s.weights.columns, {}};
  Names names;
  for (const auto i : order) {
    names.push_back(all[i]);
    for (const auto j : order) values.values.push_back(s.weights.at(i, j));
  }
  return {.title = lesson.word("longer." + key),
          .values = values,
          .row_names = names,
          .column_names = names,
          .x_label = lesson.word("steps.key"),
          .y_label = lesson.word("steps.query"),
          .low = 0,
          .color_label = lesson.word("scaling.weight"),
          .size = 320};
}

void figure_of_longer_sequence(Lesson& lesson, const LongerSequence& s) {
  std::vector<int64_t> as_it_is(s.topics.size());
  std::iota(as_it_is.begin(), as_it_is.end(), 0);
  plot::Chart cosines{
      .title = lesson.word("longer.cosines"),
      .x = {.label = lesson.word("longer.token"), .names = topic_tokens(s.topics)},
      .y = {.label = lesson.word("longer.cosine"), .high = 1},
      .series = {{.name = lesson.word("longer.before"), .y = s.before, .mark = plot::Mark::Points},
                 {.name = lesson.word("longer.after"), .y = s.after, .mark = plot::Mark::Points}},
      .width = 420,
      .height = 320};
  lesson.figure("01_longer_sequence",
                {.title = lesson.word("longer.figure"),
                 .columns = 3,
                 .panels = {weights_map(lesson, "in_order", s, as_it_is),
                            weights_map(lesson, "by_topic", s, order_by_topic(s.topics)), cosines}},
                lesson.word("longer.caption"));
}

}  // namespace

void teach_longer_sequence(Lesson& lesson, const LabOptions& options) {
  const auto s = attend_longer_sequence(options.seed);
  lesson.section("longer.title");
  lesson.say("longer.setup", fmt::arg("tokens", s.topics.size()));
  plot::Table table{.title = lesson.word("longer.table"),
                    .header = {lesson.word("longer.topic"), lesson.word("longer.within"),
                               lesson.word("longer.even"), lesson.word("longer.before"),
                               lesson.word("longer.after")},
                    .rows = {}};
  const auto topics = *std::max_element(s.topics.begin(), s.topics.end()) + 1;
  for (int64_t topic = 0; topic < topics; ++topic) {
    const auto of_topic = [&](const std::vector<double>& values) {
      std::vector<double> chosen;
      for (size_t i = 0; i < values.size(); ++i)
        if (s.topics[i] == topic) chosen.push_back(values[i]);
      return fmt::format("{:.3f}", mean_of(chosen));
    };
    table.rows.push_back({std::string(1, static_cast<char>('A' + topic)), of_topic(s.within),
                          fmt::format("{:.3f}", s.within_if_even), of_topic(s.before),
                          of_topic(s.after)});
  }
  lesson.table(table);
  lesson.say("longer.seen", fmt::arg("within", mean_of(s.within)),
             fmt::arg("even", s.within_if_even), fmt::arg("before", mean_of(s.before)),
             fmt::arg("after", mean_of(s.after)));
  figure_of_longer_sequence(lesson, s);
}

}  // namespace vitrine::labs
