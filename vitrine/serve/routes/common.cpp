#include "vitrine/serve/routes/common.h"

#include <charconv>
#include <cmath>

#include "vitrine/core/image_files.h"

namespace vitrine::serve {

int64_t integer_of(const std::string& text, const std::string& name, int64_t least, int64_t most) {
  int64_t value = 0;
  const auto* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  require(error == std::errc() && rest == end && value >= least && value <= most, 400,
          "{}={} is not a whole number from {} to {}", name, text, least, most);
  return value;
}

std::string text_of(const ordered_json& json) {
  return json.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

Response json_response(const ordered_json& json) { return {.body = text_of(json) + "\n"}; }

ordered_json json_of(const std::vector<Prediction>& predictions) {
  auto list = ordered_json::array();
  for (const auto& p : predictions)
    list.push_back({{"label", p.label}, {"index", p.index}, {"probability", p.probability}});
  return list;
}

ordered_json json_of(const std::optional<ImageLayout>& image) {
  if (!image) return nullptr;
  return {{"width", image->columns}, {"height", image->rows}, {"channels", image->channels}};
}

int64_t integer_parameter(const Request& request, const std::string& name, int64_t otherwise,
                          int64_t least, int64_t most) {
  const auto text = request.parameter(name);
  return text.empty() ? otherwise : integer_of(text, name, least, most);
}

double number_parameter(const Request& request, const std::string& name, double otherwise) {
  const auto text = request.parameter(name);
  if (text.empty()) return otherwise;
  double value = 0;
  const auto* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  require(error == std::errc() && rest == end && std::isfinite(value), 400, "{}={} is not a number",
          name, text);
  return value;
}

int64_t top_parameter(const Request& request) {
  return integer_parameter(request, "top", /*otherwise=*/5, 1, 1'000'000);
}

Active<ServedClassifier> classifier_of(const Request& request, const RouteContext& context) {
  return context.models.get<ServedClassifier>(request.parameter("model"), request.path);
}

Deadline deadline_of(const Request& request) {
  constexpr int64_t kHour = 3'600'000;  // in milliseconds
  const auto text = request.header("x-timeout-ms");
  if (text.empty()) return kNoDeadline;
  return Clock::now() + std::chrono::milliseconds(integer_of(text, "X-Timeout-Ms", 1, kHour));
}

std::string method_name(ExplainMethod method) {
  for (const auto& [name, value] : explain_method_names())
    if (value == method) return name == "gradcam" ? "grad-cam" : name;
  return "";
}

std::shared_ptr<const void> hold_place(std::counting_semaphore<64>& places, const char* what) {
  require(places.try_acquire(), 503, "too many {} are under way; try again later", what);
  return {&places, [&places](const void*) { places.release(); }};
}

Image image_of(const Request& request, const RouteContext& context) {
  const auto& bytes = request.parts.contains("image") ? request.parts.at("image") : request.body;
  require(!bytes.empty(), 400,
          "no image: send the bytes of a JPEG, PNG or WebP file as the body, or as the field "
          "'image' of a multipart form");
  const auto size = stated_image_size(bytes);
  const auto most = context.config.max_pixels;
  require(!size || size->pixels() <= most, 413,
          "image: {} x {} pixels are more than this server takes ({} megapixels)",
          size ? size->width : 0, size ? size->height : 0, most / 1000000);
  const Place place(context.decoding);
  return as_bad_request([&] { return decode_image(bytes, "image"); });
}

}  // namespace vitrine::serve
