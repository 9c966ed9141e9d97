#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "vitrine/core/error.h"

namespace vitrine::serve {

/// What a client asks, whatever carried it here.
struct Request {
  std::string method, path{};  // the path without the query, its %XX decoded
  std::map<std::string, std::string> query{}, headers{};  // names of headers in lower case
  std::string body{};
  std::map<std::string, std::string> parts{};     // the fields of a multipart body
  std::map<std::string, std::string> captured{};  // what a route's pattern has in braces
  std::string remote{};                           // the client's address
  int refusal = 0;  // 413 or 400 if the body was too large or did not come whole; it is incomplete

  /// The header or parameter of this name; empty if there is none.
  std::string header(const std::string& name) const { return find(headers, name); }
  std::string parameter(const std::string& name) const { return find(query, name); }
  std::string part(const std::string& name) const { return find(parts, name); }
  const std::string& path_part(const std::string& name) const { return captured.at(name); }
  /// The bytes of the body or of all its fields.
  size_t received() const {
    auto bytes = body.size();
    for (const auto& [name, value] : parts) bytes += value.size();
    return bytes;
  }

 private:
  static std::string find(const std::map<std::string, std::string>& map, const std::string& name) {
    const auto found = map.find(name);
    return found == map.end() ? "" : found->second;
  }
};

/// Where the pieces of a body go that is sent while it is made.
class BodyStream {
 public:
  virtual ~BodyStream() = default;
  /// Sends a piece at once; false if the client has gone.
  virtual bool send(std::string_view piece) = 0;
  /// Whether the client is still there.
  virtual bool open() = 0;
};

struct Response {
  int status = 200;
  std::string type = "application/json";
  std::string body{};
  std::vector<std::pair<std::string, std::string>> headers{};
  // Instead of a body: called once, behind the header, on the thread of the connection. Throws
  // nothing, and returns when all is sent or the client has gone.
  std::function<void(BodyStream&)> stream{};
  std::shared_ptr<const void> held{};  // freed when the answer has been sent
};

/// An error that becomes an answer with this status.
class HttpError : public Error {
 public:
  HttpError(int status, const std::string& what) : Error(what), status(status) {}
  const int status;
};

template <typename... Args>
[[noreturn]] void refuse(int status, fmt::format_string<Args...> text, Args&&... args) {
  throw HttpError(status, fmt::format(text, std::forward<Args>(args)...));
}

template <typename... Args>
void require(bool ok, int status, fmt::format_string<Args...> text, Args&&... args) {
  if (!ok) refuse(status, text, std::forward<Args>(args)...);
}

/// Calls `f`, whose `Error`s are the client's fault: they become answers with status 400.
template <typename F>
auto as_bad_request(F&& f) {
  try {
    return f();
  } catch (const HttpError&) {
    throw;
  } catch (const Error& e) {
    throw HttpError(400, e.what());
  }
}

/// What an exception says, without the stack trace that torch's have.
std::string message_of(const std::exception& e);

/// {"error": "..."}, and Retry-After where the server is busy.
Response error_response(int status, const std::string& message);

}  // namespace vitrine::serve
