#include "vitrine/serve/http.h"

#include <nlohmann/json.hpp>

namespace vitrine::serve {

std::string message_of(const std::exception& e) {
  const std::string message = e.what();
  return message.substr(0, message.find("\nException raised from"));
}

Response error_response(int status, const std::string& message) {
  using nlohmann::ordered_json;
  const ordered_json json = {{"error", message}};
  Response response{
      .status = status,
      .body = json.dump(-1, ' ', false, ordered_json::error_handler_t::replace) + "\n"};
  if (status == 503) response.headers.emplace_back("Retry-After", "1");
  return response;
}

}  // namespace vitrine::serve
