#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace vitrine {

/// The names of an enum's values, each once.
template <typename E>
using Choices = std::vector<std::pair<std::string, E>>;

/// Visits every field of a config struct. A config lists its fields once, in
/// `void visit(Fields& f)`, and the YAML reader, the writer of stored recipes and the reference
/// page in docs/ are all visitors of that list.
class Fields {
 public:
  virtual ~Fields() = default;

  virtual void operator()(std::string_view name, bool& value, std::string_view help) = 0;
  virtual void operator()(std::string_view name, int64_t& value, std::string_view help) = 0;
  virtual void operator()(std::string_view name, double& value, std::string_view help) = 0;
  virtual void operator()(std::string_view name, std::string& value, std::string_view help) = 0;
  virtual void operator()(std::string_view name, std::vector<double>& value,
                          std::string_view help) = 0;
  virtual void operator()(std::string_view name, std::vector<int64_t>& value,
                          std::string_view help) = 0;

  /// A field that takes one of a few named values.
  template <typename E>
  void operator()(std::string_view name, E& value, const Choices<E>& choices,
                  std::string_view help) {
    std::vector<std::string> names;
    std::string current;
    for (const auto& [text, choice] : choices) {
      names.push_back(text);
      if (choice == value) current = text;
    }
    one_of(name, current, names, help);
    for (const auto& [text, choice] : choices)
      if (text == current) value = choice;
  }

  /// A file or folder. Where it is read from a file, it lies relative to that file.
  virtual void path(std::string_view name, std::string& value, std::string_view help) {
    (*this)(name, value, help);
  }

  /// A config inside a config.
  template <typename Config>
  void group(std::string_view name, Config& config, std::string_view help) {
    begin_group(name, help);
    config.visit(*this);
    end_group();
  }

  /// A group whose key `name` decides its other keys (core/choice.h); a single word in its place
  /// means that name.
  template <typename Config>
  void choice(std::string_view name, Config& config, std::string_view help) {
    begin_choice(name, help);
    config.visit(*this);
    end_group();
  }

 protected:
  virtual void one_of(std::string_view name, std::string& value,
                      const std::vector<std::string>& choices, std::string_view help) = 0;
  virtual void begin_group(std::string_view name, std::string_view help) = 0;
  virtual void begin_choice(std::string_view name, std::string_view help) {
    begin_group(name, help);
  }
  virtual void end_group() = 0;
};

}  // namespace vitrine
