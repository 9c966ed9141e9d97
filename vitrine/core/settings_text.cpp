#include <yaml-cpp/yaml.h>

#include "vitrine/core/error.h"
#include "vitrine/core/settings.h"

namespace vitrine {
namespace {

/// The shortest text that reads back as the same double.
std::string number_text(double value) { return fmt::format("{}", value); }

class YamlWriter : public Fields {
 public:
  explicit YamlWriter(std::string& text) : text_(text) { out_ << YAML::BeginMap; }
  ~YamlWriter() override {
    out_ << YAML::EndMap;
    text_ = std::string(out_.c_str()) + "\n";
  }

  void operator()(std::string_view name, bool& value, std::string_view) override {
    put(name, value);
  }
  void operator()(std::string_view name, int64_t& value, std::string_view) override {
    put(name, value);
  }
  void operator()(std::string_view name, double& value, std::string_view) override {
    put(name, number_text(value));
  }
  void operator()(std::string_view name, std::string& value, std::string_view) override {
    out_ << YAML::Key << std::string(name) << YAML::Value;
    // yaml-cpp leaves a carriage return bare, which before the end of a line is a part of that end.
    if (value.empty() || value.find('\r') != value.npos) out_ << YAML::DoubleQuoted;
    out_ << value;
  }
  void operator()(std::string_view name, std::vector<double>& value, std::string_view) override {
    out_ << YAML::Key << std::string(name) << YAML::Value << YAML::Flow << YAML::BeginSeq;
    for (const double v : value) out_ << number_text(v);
    out_ << YAML::EndSeq;
  }
  void operator()(std::string_view name, std::vector<int64_t>& value, std::string_view) override {
    put_flow(name, value);
  }
  void one_of(std::string_view name, std::string& value, const std::vector<std::string>&,
              std::string_view) override {
    put(name, value);
  }
  void begin_group(std::string_view name, std::string_view) override {
    out_ << YAML::Key << std::string(name) << YAML::Value << YAML::BeginMap;
  }
  void end_group() override { out_ << YAML::EndMap; }

 private:
  template <typename T>
  void put(std::string_view name, const T& value) {
    out_ << YAML::Key << std::string(name) << YAML::Value << value;
  }
  template <typename T>
  void put_flow(std::string_view name, const T& value) {
    out_ << YAML::Key << std::string(name) << YAML::Value << YAML::Flow << value;
  }

  std::string& text_;
  YAML::Emitter out_;
};

class MarkdownWriter : public Fields {
 public:
  explicit MarkdownWriter(std::string& out) : out_(out) {
    out_ += "| key | default | meaning |\n|---|---|---|\n";
  }
  void operator()(std::string_view name, bool& value, std::string_view help) override {
    row(name, value ? "true" : "false", help);
  }
  void operator()(std::string_view name, int64_t& value, std::string_view help) override {
    row(name, std::to_string(value), help);
  }
  void operator()(std::string_view name, double& value, std::string_view help) override {
    row(name, number_text(value), help);
  }
  void operator()(std::string_view name, std::string& value, std::string_view help) override {
    row(name, value, help);
  }
  void operator()(std::string_view name, std::vector<double>& value,
                  std::string_view help) override {
    row(name, fmt::format("[{}]", fmt::join(value, ", ")), help);
  }
  void operator()(std::string_view name, std::vector<int64_t>& value,
                  std::string_view help) override {
    row(name, fmt::format("[{}]", fmt::join(value, ", ")), help);
  }
  void one_of(std::string_view name, std::string& value, const std::vector<std::string>& choices,
              std::string_view help) override {
    row(name, value, fmt::format("{} ({})", help, fmt::join(choices, ", ")));
  }
  void begin_group(std::string_view name, std::string_view help) override {
    row(name, "", help);
    prefix_.push_back(std::string(name));
  }
  void end_group() override { prefix_.pop_back(); }

 private:
  void row(std::string_view name, const std::string& value, std::string_view help) {
    auto path = fmt::format("{}", fmt::join(prefix_, "."));
    if (!path.empty()) path += '.';
    out_ += fmt::format("| `{}{}` | {} | {} |\n", path, name,
                        value.empty() ? "" : "`" + value + "`", help);
  }

  std::string& out_;
  std::vector<std::string> prefix_;
};

}  // namespace

std::unique_ptr<Fields> make_yaml_writer(std::string& out) {
  return std::make_unique<YamlWriter>(out);
}

std::unique_ptr<Fields> make_markdown_writer(std::string& out) {
  return std::make_unique<MarkdownWriter>(out);
}

}  // namespace vitrine
