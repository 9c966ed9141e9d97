#include "vitrine/serve/routes/json_body.h"

#include "vitrine/core/json_nesting.h"

namespace vitrine::serve {

std::string shown(const nlohmann::ordered_json& value) {
  constexpr size_t kMost = 60;
  auto text = value.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  return text.size() <= kMost ? text : text.substr(0, kMost) + "...";
}

void refuse_deep_json(std::string_view text) {
  require(!is_nested_deeper(text), 400, "the JSON is nested deeper than {} levels", kJsonLevels);
}

JsonBody::JsonBody(const Request& request) : json_(nlohmann::ordered_json::object()) {
  if (request.body.empty()) return;
  refuse_deep_json(request.body);
  try {
    json_ = nlohmann::ordered_json::parse(request.body);
  } catch (const nlohmann::json::exception& e) {
    throw HttpError(400, fmt::format("the body is not JSON: {}", e.what()));
  }
  require(json_.is_object(), 400, "the body is a JSON {}, expected an object", json_.type_name());
}

const nlohmann::ordered_json* JsonBody::find(const std::string& name) {
  known_.insert(name);
  const auto found = json_.find(name);
  return found == json_.end() || found->is_null() ? nullptr : &*found;
}

std::string JsonBody::text(const std::string& name, const std::string& otherwise) {
  const auto* value = find(name);
  if (value == nullptr) return otherwise;
  require(value->is_string(), 400, "{}: {} is not a text", name, shown(*value));
  return value->get<std::string>();
}

double JsonBody::number(const std::string& name, double otherwise) {
  const auto* value = find(name);
  if (value == nullptr) return otherwise;
  require(value->is_number(), 400, "{}: {} is not a number", name, shown(*value));
  return value->get<double>();
}

int64_t JsonBody::integer(const std::string& name, std::optional<int64_t> otherwise, int64_t least,
                          int64_t most) {
  const auto* value = find(name);
  if (value == nullptr && otherwise) return *otherwise;
  const auto wanted = [&](const std::string& given) {
    refuse(400, "{}: {} is not a whole number from {} to {}", name, given, least, most);
  };
  if (value == nullptr) wanted("nothing");
  const bool fits =
      value->is_number_integer() &&
      (!value->is_number_unsigned() || value->get<uint64_t>() <= static_cast<uint64_t>(most)) &&
      value->get<int64_t>() >= least && value->get<int64_t>() <= most;
  if (!fits) wanted(shown(*value));
  return value->get<int64_t>();
}

void JsonBody::refuse_others() const {
  for (const auto& [name, value] : json_.items())
    require(known_.contains(name), 400, "'{}' is not known (known: {})", name,
            fmt::join(known_, ", "));
}

}  // namespace vitrine::serve
