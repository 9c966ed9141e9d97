#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "vitrine/core/fields.h"

namespace vitrine {

/// No recipe or sweep has more bytes.
inline constexpr uint64_t kLongestYaml = 1 << 16;

/// A tree of named values as a person wrote it: YAML, then `key.path=value` overrides. It knows
/// where each value came from, so that errors can say it, and what a relative path is relative to:
/// the file's folder for a value of the file, the working directory for an override.
class Settings {
 public:
  /// Reads a YAML file; a missing file, bad syntax or a key given twice throws with file and line.
  static Settings from_file(const std::string& path);
  /// Reads YAML text; `origin` names it in errors.
  static Settings from_text(const std::string& text, std::string origin);

  /// Sets one value from "key.path=value"; the value is YAML (`3`, `true`, `[0.5, 0.5]`).
  void override_with(const std::string& assignment);

  /// Fills `config` through its `visit`. Unknown keys, values of the wrong type and numbers that
  /// are not finite throw a `UsageError` with the place, the value and the name that may be meant.
  template <typename Config>
  void read_into(Config& config) const {
    const auto reader = make_reader();
    config.visit(*reader);
    finish(*reader);
  }

  /// Fills what `config` asks for and leaves all other keys for later.
  template <typename Config>
  void read_part_into(Config& config) const {
    config.visit(*make_reader());
  }

 private:
  struct Tree;
  class Reader;
  Settings() = default;
  std::unique_ptr<Fields> make_reader() const;
  static void finish(Fields& reader);

  std::shared_ptr<Tree> tree_;
};

/// A visitor that writes YAML; `out` is complete once it is destroyed.
std::unique_ptr<Fields> make_yaml_writer(std::string& out);
/// A visitor that writes a Markdown table: key, default, meaning.
std::unique_ptr<Fields> make_markdown_writer(std::string& out);

/// The config as YAML, every field written out; `Settings` reads it back as the same config.
template <typename Config>
std::string to_yaml(Config config) {
  std::string out;
  config.visit(*make_yaml_writer(out));
  return out;
}

/// The config's fields as a Markdown table.
template <typename Config>
std::string to_markdown(Config config) {
  std::string out;
  config.visit(*make_markdown_writer(out));
  return out;
}

}  // namespace vitrine
