#include "vitrine/train/hparams.h"

#include <fmt/format.h>

#include "vitrine/plot/text.h"

namespace vitrine {
namespace {

/// Lists fields under their dotted keys.
class HParamsWriter : public Fields {
 public:
  explicit HParamsWriter(HParams& out) : out_(out) {}

  void operator()(std::string_view name, bool& value, std::string_view) override {
    put(name, value);
  }
  void operator()(std::string_view name, int64_t& value, std::string_view) override {
    put(name, static_cast<double>(value));
  }
  void operator()(std::string_view name, double& value, std::string_view) override {
    put(name, value);
  }
  void operator()(std::string_view name, std::string& value, std::string_view) override {
    put(name, plot::clean_text(value));  // a path need not be UTF-8
  }
  void operator()(std::string_view name, std::vector<double>& value, std::string_view) override {
    put(name, fmt::format("[{}]", fmt::join(value, ", ")));
  }
  void operator()(std::string_view name, std::vector<int64_t>& value, std::string_view) override {
    put(name, fmt::format("[{}]", fmt::join(value, ", ")));
  }

 protected:
  void one_of(std::string_view name, std::string& value, const std::vector<std::string>&,
              std::string_view) override {
    put(name, value);
  }
  void begin_group(std::string_view name, std::string_view) override {
    groups_.push_back(fmt::format("{}{}.", prefix(), name));
  }
  void end_group() override { groups_.pop_back(); }

 private:
  std::string prefix() const { return groups_.empty() ? "" : groups_.back(); }
  template <typename Value>
  void put(std::string_view name, Value value) {
    out_.emplace_back(fmt::format("{}{}", prefix(), name), std::move(value));
  }

  HParams& out_;
  std::vector<std::string> groups_;
};

}  // namespace

HParams hparams_of(Recipe recipe) {
  HParams hparams;
  HParamsWriter writer(hparams);
  recipe.visit(writer);
  std::erase_if(hparams, [](const auto& entry) { return entry.first == "name"; });
  return hparams;
}

}  // namespace vitrine
