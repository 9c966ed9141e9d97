#pragma once

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <nlohmann/json.hpp>

#include "vitrine/core/fields.h"
#include "vitrine/core/nearest.h"
#include "vitrine/core/precision.h"
#include "vitrine/infer/precision.h"

// What several commands declare or print alike. Refusals name the values that are taken.
namespace vitrine::cli {

/// Accepts numbers for which `fits` holds. What is no number is left for CLI11 to refuse.
template <typename Fits>
CLI::Validator number_check(Fits fits, const std::string& range) {
  return {[fits, range](std::string& text) -> std::string {
            double value = 0;
            if (!CLI::detail::lexical_cast(text, value) || fits(value)) return "";
            return fmt::format("{} is out of range ({})", text, range);
          },
          /*validator_desc=*/""};
}

inline CLI::Validator between(double least, double most) {
  return number_check([=](double value) { return value >= least && value <= most; },
                      fmt::format("{} to {}", least, most));
}

inline CLI::Validator at_least(double least) {
  return number_check([=](double value) { return value >= least; },
                      fmt::format("{} or more", least));
}

inline CLI::Validator positive() {
  return number_check([](double value) { return value > 0 && std::isfinite(value); }, "above 0");
}

/// Takes the names of an enum's values.
template <typename E>
CLI::Validator one_of(const Choices<E>& choices) {
  return {[choices](std::string& text) -> std::string {
            std::vector<std::string> names;
            for (const auto& [name, value] : choices) {
              names.push_back(name);
              if (name != text) continue;
              text = std::to_string(static_cast<int>(value));
              return "";
            }
            return fmt::format("'{}' is not known{} (known: {})", text, did_you_mean(text, names),
                               fmt::join(names, ", "));
          },
          /*validator_desc=*/""};
}

/// What an option takes, as help, man pages and completion show it: words and placeholders (those
/// of reference/command_reference.cpp are completed) with | between them.
inline std::string value_type(const std::vector<std::string>& alternatives) {
  return fmt::format("{}", fmt::join(alternatives, "|"));
}

/// Has the option take the names of an enum's values.
template <typename E>
CLI::Option* take_one_of(CLI::Option* option, const Choices<E>& choices) {
  std::vector<std::string> names;
  for (const auto& [name, value] : choices) names.push_back(name);
  return option->type_name(value_type(names))->transform(one_of(choices));
}

/// One line of JSON; bytes that are no UTF-8, as names of files may have, are replaced.
inline std::string json_line(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

/// Declares the model that a command uses, as an option or by its position.
inline void add_model(CLI::App& app, const char* name, std::string& model) {
  app.add_option(name, model,
                 "a run folder (its best checkpoint), a checkpoint or published weights")
      ->type_name("PATH")
      ->required();
}

/// Declares --device.
inline void add_device(CLI::App& app, std::string& device) {
  app.add_option("--device", device, "where to compute; cuda:N is one of several GPUs")
      ->type_name("cpu|cuda")
      ->capture_default_str();
}

/// Declares --split.
inline void add_split(CLI::App& app, std::string& split) {
  app.add_option("--split", split, "split of the data")
      ->type_name("train|validation|test")
      ->capture_default_str();
}

/// Declares --threads; 0 is for all cores.
inline void add_threads(CLI::App& app, int64_t& threads) {
  constexpr double kMax = 1024;
  app.add_option("--threads", threads, "threads; 0 = all cores")
      ->capture_default_str()
      ->check(between(0, kMax));
}

/// Declares --hosts and --ssh.
inline void add_hosts(CLI::App& app, std::string& hosts, std::string& ssh) {
  app.add_option("--hosts", hosts, "hosts to work on, with commas between them")
      ->type_name("HOST,HOST")
      ->check(CLI::Validator(
          [](std::string& list) -> std::string { return list.empty() ? "no host is named" : ""; },
          /*validator_desc=*/""));
  app.add_option("--ssh", ssh, "how to reach them; called as PROGRAM HOST COMMAND")
      ->type_name("PROGRAM")
      ->capture_default_str();
}

/// Declares --precision.
inline void add_precision(CLI::App& app, Precision& precision) {
  take_one_of(app.add_option("--precision", precision,
                             "how the blocks of an image classifier multiply; default: fp32"),
              precision_names());
}

/// Says so if the precision gains nothing on this machine.
inline void say_precision(Precision precision, std::ostream& err) {
  if (const auto note = precision_note(precision); !note.empty()) err << note << '\n';
}

}  // namespace vitrine::cli
