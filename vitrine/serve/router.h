#pragma once

#include <functional>
#include <string>
#include <vector>

#include "vitrine/serve/http.h"

namespace vitrine::serve {

/// A method and a pattern such as "/v1/runs/{name}/metrics", whose braces take one part of the
/// path.
struct Route {
  std::string method, pattern;
  std::function<Response(const Request&)> handle;
  bool open = false;  // answered without a token
};

/// What a request is for.
struct RouteMatch {
  const Route* route = nullptr;  // null: nothing has this path, or not with this method
  std::string allowed{};         // the methods that this path has
  std::map<std::string, std::string> captured{};
};

class Router {
 public:
  void add(Route route) { routes_.push_back(std::move(route)); }
  /// Asked where no route has the path of a GET request: files of the page.
  void set_fallback(Route route) { fallback_ = std::move(route); }

  RouteMatch match(const std::string& method, const std::string& path) const;
  const std::vector<Route>& routes() const { return routes_; }

 private:
  std::vector<Route> routes_;
  Route fallback_{};
};

/// Whether it may be the name of a file or folder: letters, digits, '.', '_', '-' and '+', not a
/// '.' first.
bool is_plain_name(const std::string& name);

}  // namespace vitrine::serve
