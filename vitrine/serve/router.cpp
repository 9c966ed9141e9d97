#include "vitrine/serve/router.h"

#include <algorithm>
#include <string_view>

namespace vitrine::serve {
namespace {

std::vector<std::string> split(std::string_view path) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin <= path.size();) {
    const auto end = std::min(path.find('/', begin), path.size());
    parts.emplace_back(path.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

/// Whether the path has the pattern's form; fills what the braces took.
bool fits(const std::string& pattern, const std::vector<std::string>& path,
          std::map<std::string, std::string>& captured) {
  const auto wanted = split(pattern);
  if (wanted.size() != path.size()) return false;
  captured.clear();
  for (size_t i = 0; i < path.size(); ++i) {
    if (wanted[i].starts_with('{')) {
      if (path[i].empty()) return false;
      captured[wanted[i].substr(1, wanted[i].size() - 2)] = path[i];
    } else if (wanted[i] != path[i]) {
      return false;
    }
  }
  return true;
}

}  // namespace

RouteMatch Router::match(const std::string& method, const std::string& path) const {
  const auto& wanted = method == "HEAD" ? "GET" : method;
  const auto parts = split(path);
  RouteMatch result;
  std::map<std::string, std::string> captured;
  for (const auto& route : routes_) {
    if (!fits(route.pattern, parts, captured)) continue;
    if (route.method == wanted) return {&route, "", std::move(captured)};
    result.allowed += (result.allowed.empty() ? "" : ", ") + route.method;
  }
  if (result.allowed.empty() && wanted == "GET" && fallback_.handle) result.route = &fallback_;
  return result;
}

bool is_plain_name(const std::string& name) {
  return !name.empty() && name.front() != '.' &&
         std::all_of(name.begin(), name.end(), [](unsigned char c) {
           return std::isalnum(c) || c == '.' || c == '_' || c == '-' || c == '+';
         });
}

}  // namespace vitrine::serve
