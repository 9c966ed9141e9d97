#pragma once

#include <string>
#include <vector>

#include "vitrine/studies/addition/study.h"

namespace vitrine::addition {

using namespace fmt::literals;
using Sentences = std::vector<std::string>;

/// The report of one language; its tables are also kept as Markdown.
class AdditionReport : public StudyReport {
 public:
  using StudyReport::StudyReport;

  std::string name(Architecture network) const { return text(name_of(network)); }
  template <typename... Args>
  void question(const std::string& key, const Args&... args) {
    say("question", "text"_a = text(key, args...));
  }
  /// A list of sentences; nothing if there are none.
  void findings(const Sentences& sentences) {
    if (!sentences.empty()) say("findings");
    list(sentences);
  }
  void table(const plot::Table& table) {
    Report::table(table);
    tables_ += "\n" + report::markdown_table(table);
  }
  const std::string& tables() const { return tables_; }

 private:
  std::string tables_;
};

/// The parts of the page about trained networks, each with its heading; a part without data writes
/// nothing.
void write_tuned_networks(AdditionReport& r, const Networks& networks);
void write_low_rate_networks(AdditionReport& r, const Networks& networks);
void write_network_attention(AdditionReport& r, const AttentionStudy& attention);

/// Whether the run's metrics.jsonl is there.
inline bool has_metrics(const TrainedNetwork& run) {
  return !run.metrics.empty() && fs::exists(run.metrics);
}

}  // namespace vitrine::addition
