#pragma once

#include <fmt/format.h>

#include <array>
#include <string>

#include "vitrine/studies/addition/architecture.h"

namespace vitrine {

/// The languages in which the study shows itself.
enum class Language { English, Korean };

/// What figures say; texts with braces are patterns for `filled`.
struct FigureWords {
  PerArchitecture<std::string> architecture;

  std::string first_sweep, second_sweep;  // {0} network
  std::string setting_value, test_loss, test_accuracy, training_time;
  std::string embed, layers, channels, hidden;
  std::string over_budget, failed;

  std::string loss_title, train_loss, epoch;

  std::string error_map, no_error, some_errors;  // {0} network; {0} wrong answers
  std::string first_number, second_number, deviation;
  std::string far_deviation;  // {0} and beyond has the darkest colour
  std::string box_title, all_answers, wrong_answers;
  std::string top_title, answers_per_run;
  std::string kinds_title, by_carries, by_digit, wrong_share;
  std::array<std::string, 3> carries, digits;

  std::string rate_title, learning_rate, ahead, failed_at;  // {0} network
  std::string held_out_title, training_pairs, held_out_accuracy;

  std::string attention_title;  // {0} + {1} = {2}
  std::string attention_weight, looks_from, looks_at, carry_title, carry_difference;
};
extern const FigureWords kEnglishFigureWords, kKoreanFigureWords;

inline const FigureWords& figure_words(Language language) {
  return language == Language::Korean ? kKoreanFigureWords : kEnglishFigureWords;
}

/// What tables say.
struct TableWords {
  std::string tuned_title, low_rate_title, small_title;
  std::string deviations_title;  // {0} which networks
  std::string tuned_networks, low_rate_networks;
  std::string quantity, network, settings, seeds, right, deviation_mean, deviation_std, train_time,
      predict_time, checkpoint, parameters;
  std::string source;                         // {0} network
  std::string per_1000_epochs;                // {0} seconds
  std::string rank, deviation, count, share;  // {0} network
  std::string accuracy_spread, all_right;
  std::string rates_title, held_out_title, learning_rate, training_pairs;
  std::string accuracy_of;  // {0} network
  std::string ahead, neither;
};
extern const TableWords kEnglishTableWords, kKoreanTableWords;

inline const TableWords& table_words(Language language) {
  return language == Language::Korean ? kKoreanTableWords : kEnglishTableWords;
}

/// The pattern with its {0}, {1}, ... replaced.
template <typename... Args>
std::string filled(const std::string& pattern, const Args&... args) {
  return fmt::format(fmt::runtime(pattern), args...);
}

/// `value` rounded to two decimals, never "-0.00" when written.
double rounded(double value);

/// "10,000".
std::string with_commas(int64_t number);

}  // namespace vitrine
