#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "vitrine/serve/http.h"

namespace vitrine::serve {

/// Answers 400 if JSON is nested deeper than any that is asked for.
void refuse_deep_json(std::string_view text);

/// A value as it stands in an error, not too long.
std::string shown(const nlohmann::ordered_json& value);

/// The JSON object that a request's body is, or an empty one if there is no body. What is wrong in
/// it is answered 400.
class JsonBody {
 public:
  explicit JsonBody(const Request& request);

  /// The member of this name, or `otherwise` if there is none or it is null.
  std::string text(const std::string& name, const std::string& otherwise = "");
  double number(const std::string& name, double otherwise);
  /// The same for a whole number from `least` to `most`; without `otherwise` it must be there.
  int64_t integer(const std::string& name, std::optional<int64_t> otherwise, int64_t least,
                  int64_t most);
  /// Refuses members that were not asked for.
  void refuse_others() const;

 private:
  const nlohmann::ordered_json* find(const std::string& name);

  nlohmann::ordered_json json_;
  std::set<std::string> known_;
};

}  // namespace vitrine::serve
