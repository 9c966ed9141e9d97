#pragma once

#include <string>
#include <vector>

#include "vitrine/studies/addition/text.h"

namespace vitrine {

/// What the report says; texts with braces are patterns for `filled`. Where not said otherwise, {0}
/// is a network's name.
struct ReportWords {
  std::string page_language, title;
  std::vector<std::string> intro, glossary;
  std::string missing;  // {0} a list of parts
  std::string question, findings;

  std::string part_first_sweep, part_second_sweep, part_rates, part_tuned, part_metrics,
      part_low_rate, part_held_out, part_small;
  std::string part_attention, part_carry_attention;

  std::string first_sweep, second_sweep;  // headings
  std::string sweep_question, sweep_reading, sweep_caption;
  std::string sweep_runs;     // {0} runs, {1} over budget, {2} failed
  std::string sweep_best;     // {0} accuracy, {1} std, {2} settings, {3} seconds
  std::string sweep_ranges;   // {0} list
  std::string sweep_range;    // {0} setting, {1} points
  std::string sweep_matters;  // {0} setting

  std::string rates, rates_question, rates_caption;
  std::string rates_flip;  // {0} rate, {1} CNN, {2} Transformer, {3} rate, {4} Transformer, {5} CNN
  std::string rates_one_leads;  // {0} network, {1} rate, {2} its accuracy, {3} the other's
  std::string rates_no_lead, rates_nothing_shared;
  std::string rates_best;  // {0} network, {1} rate, {2} accuracy, {3} std
  std::string rates_conclusion, rates_differ;

  std::string tuned, tuned_question, tuned_source;
  std::string all_right;     // {0} network, {1} runs
  std::string right_range;   // {0} network, {1} least, {2} most, {3} runs, {4} without error
  std::string predict_time;  // {0} network, {1} ms, {2} source's ms
  std::string loss_question, loss_caption;
  std::string last_loss;  // {0} network, {1} loss, {2} epochs, {3} seconds, {4} runs,
                          // {5} source's loss, {6} its epoch

  std::string errors, low_rate, low_rate_question, low_rate_source;
  std::string map_question;
  std::string map_caption;       // {0} network, {1} seed, {2} runs
  std::string map_tens;          // {0} network, {1} % off by 10, {2} by 90, {3} otherwise
  std::string map_mostly_carry;  // {0} network
  std::string nothing_wrong;     // {0} network
  std::string box_question, box_caption;
  std::string box_spread;  // {0} network, {1} mean, {2} std
  std::string box_flat;
  std::string top_question, top_caption, top_source;
  std::string kinds_question, kinds_caption;
  std::string kinds_carries;  // {0} network, {1} {2} {3} % wrong with 0, 1, 2 carries
  std::string kinds_digit;    // {0} network, {1} digit, {2} % wrong

  std::string held_out, held_out_question, held_out_caption;
  std::string held_out_ends;  // {0} network, {1} share, {2} accuracy, {3} share, {4} accuracy
  std::string held_out_lead;  // {0} network, {1} share, {2} its accuracy, {3} the other's
  std::string held_out_no_lead;

  std::string small, small_question;
  std::string small_all_right, small_nearly;  // {0} network, {1} parameters, {2} settings
  std::string small_none;

  std::string attention;
  std::string attention_question;  // {0} + {1}
  std::string attention_caption;
  std::string attention_strongest;  // {0} map, {1} token, {2} token, {3} weight
  std::string carry_question, carry_caption;
  std::string carry_strongest;  // {0} map, {1} token, {2} token, {3} difference
  std::string attention_caution;
};
extern const ReportWords kEnglishReportWords, kKoreanReportWords;

inline const ReportWords& report_words(Language language) {
  return language == Language::Korean ? kKoreanReportWords : kEnglishReportWords;
}

}  // namespace vitrine
