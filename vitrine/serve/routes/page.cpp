#include <algorithm>
#include <string_view>

#include "vitrine/core/image_files.h"
#include "vitrine/serve/page_files.h"
#include "vitrine/serve/routes/common.h"

// The page's files and the description of the API.
namespace vitrine {

extern const std::string_view openapi_document;

namespace serve {
namespace {

std::string type_of(const fs::path& file) {
  static const std::map<std::string, std::string> types = {
      {".html", "text/html; charset=utf-8"},
      {".js", "text/javascript"},
      {".mjs", "text/javascript"},
      {".css", "text/css"},
      {".json", "application/json"},
      {".svg", "image/svg+xml"},
      {".png", "image/png"},
      {".jpg", "image/jpeg"},
      {".jpeg", "image/jpeg"},
      {".webp", "image/webp"},
      {".woff2", "font/woff2"},
      {".txt", "text/plain; charset=utf-8"},
      {".ico", "image/x-icon"},
      {".webmanifest", "application/manifest+json"}};
  const auto found = types.find(lower_extension(file));
  return found == types.end() ? "application/octet-stream" : found->second;
}

/// The file that a path names below the page's folder; throws unless it lies there.
fs::path page_file(const fs::path& folder, const std::string& path) {
  const auto missing = [&]() -> fs::path {
    refuse(404, "there is nothing at {}; see /openapi.json", path);
  };
  const auto relative = fs::path(path).relative_path();
  for (const auto& part : relative)
    if (!is_plain_name(part.string())) return missing();
  std::error_code error;
  const auto root = fs::canonical(folder, error);
  if (error) return missing();  // an empty root would be the working directory
  const auto file = fs::canonical(root / (relative.empty() ? "index.html" : relative), error);
  if (error || !fs::is_regular_file(file, error)) return missing();
  const auto inside = std::mismatch(root.begin(), root.end(), file.begin(), file.end()).first;
  return inside == root.end() ? file : missing();
}

Response with_policy(Response response) {
  response.headers.emplace_back(
      "Content-Security-Policy",
      "default-src 'self'; img-src 'self' blob: data:; media-src 'self' blob:; "
      "style-src 'self' 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'");
  return response;
}

Response list_of_routes(const Router& router) {
  std::string text = "Vitrine serves:\n\n";
  for (const auto& route : router.routes())
    text += fmt::format("{:<5} {}\n", route.method, route.pattern);
  return {.type = "text/plain; charset=utf-8", .body = text};
}

/// From the folder of the options, or what is built into the program.
Response page(const Request& request, const RouteContext& context, const Router& router) {
  if (!context.config.page.empty()) {
    const auto file = page_file(context.config.page, request.path);
    return with_policy({.type = type_of(file), .body = read_file(file)});
  }
  const auto& files = page_files();
  if (files.empty() && request.path == "/") return list_of_routes(router);
  const auto found = files.find(request.path == "/" ? "/index.html" : request.path);
  require(found != files.end(), 404, "there is nothing at {}; see /openapi.json", request.path);
  return with_policy({.type = type_of(found->first), .body = std::string(found->second)});
}

}  // namespace

void add_page_routes(Router& router, const RouteContext& context) {
  const bool open = true;
  router.add({"GET", "/openapi.json",
              [](const Request&) { return Response{.body = std::string(openapi_document)}; },
              open});
  const auto show = [&](const Request& r) { return page(r, context, router); };
  router.add({"GET", "/", show, open});
  router.set_fallback({"GET", "page", show, open});
}

}  // namespace serve
}  // namespace vitrine
