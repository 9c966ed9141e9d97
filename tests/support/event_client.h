#pragma once

#include <httplib.h>

#include <chrono>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace vitrine::test {

/// A client that waits: a busy machine may leave the server without a processor for many seconds,
/// and httplib gives up after five.
inline httplib::Client patient_client(int port) {
  httplib::Client client("127.0.0.1", port);
  client.set_read_timeout(std::chrono::minutes(5));
  client.set_write_timeout(std::chrono::minutes(5));
  return client;
}

/// A server-sent event.
struct Event {
  std::string name;
  nlohmann::json data;
};

/// The answer to a POST request, an event at a time.
struct EventStream {
  int status = 0;
  std::string type, body;  // the body of an answer that is no stream
  std::vector<Event> events{};

  /// The data of the first event of this name; null if there is none.
  nlohmann::json first(const std::string& name) const {
    for (const auto& event : events)
      if (event.name == name) return event.data;
    return nullptr;
  }
};

/// Takes the events off the front of `text` that are there as a whole.
inline std::vector<Event> take_events(std::string& text) {
  std::vector<Event> events;
  for (size_t end = 0; (end = text.find("\n\n")) != std::string::npos; text.erase(0, end + 2)) {
    const auto line = text.find('\n');
    const std::string event = "event: ", data = "data: ";
    events.push_back(
        {text.substr(event.size(), line - event.size()),
         nlohmann::json::parse(text.substr(line + 1 + data.size(), end - line - 1 - data.size()))});
  }
  return events;
}

/// Posts and reads events as they come; `take` may return false to close the connection.
inline EventStream post_for_events(
    int port, const std::string& path, const std::string& body,
    const std::function<bool(const Event&)>& take = [](const Event&) { return true; },
    const httplib::Headers& headers = {}) {
  EventStream stream;
  std::string text;
  httplib::Request request;
  request.method = "POST";
  request.path = path;
  request.body = body;
  request.headers = headers;
  request.response_handler = [&](const httplib::Response& response) {
    stream.status = response.status;
    stream.type = response.get_header_value("Content-Type");
    return true;
  };
  request.content_receiver = [&](const char* bytes, size_t count, uint64_t, uint64_t) {
    text.append(bytes, count);
    if (stream.type != "text/event-stream") return true;
    for (auto& event : take_events(text)) {
      stream.events.push_back(event);
      if (!take(event)) return false;
    }
    return true;
  };
  patient_client(port).send(request);
  stream.body = text;
  return stream;
}

}  // namespace vitrine::test
