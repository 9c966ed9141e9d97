// Malformed and random requests: each is answered or its connection closed within its time
// limits, and soon if nothing of it is missing; none is answered 500; the server goes on.
#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <mutex>

#include "tests/serve/fuzz_requests.h"
#include "tests/serve/fuzz_target.h"
#include "tests/support/raw_connection.h"

namespace vitrine::serve {
namespace {

using namespace std::chrono_literals;

constexpr uint64_t kSeed = 1, kRequests = 3000;
constexpr int kClients = 96;
// Longer than those of docs/serving.md, so that a busy machine is not taken for a server that
// waits.
const TransportConfig kLimits = {
    .connections = 512, .header_seconds = 20, .body_seconds = 40, .idle_seconds = 20};
constexpr auto kSoon = 15s;       // less than a header has: what takes longer has waited for bytes
constexpr auto kPatience = 180s;  // more than header, body and closing have
constexpr auto kQuiet = 300ms;    // behind the first answer, for those to pipelined requests

struct Outcome {
  std::string received{};
  bool closed = false;
  Clock::duration waited{};  // for the first byte or the end

  bool silent() const { return received.empty() && !closed; }
  std::string status() const {
    if (silent()) return "silent";
    if (received.empty()) return "closed";
    return received.starts_with("HTTP/1.1 ") ? received.substr(9, 3) : "no HTTP";
  }
};

/// Sends the request and reads what comes.
Outcome outcome_of(const test::FuzzRequest& request, int port) {
  test::RawConnection connection(port);
  connection.send(request.bytes);
  if (request.half_close) ::shutdown(connection.socket(), SHUT_WR);
  Outcome outcome;
  const auto begin = Clock::now();
  for (auto end = begin + Clock::duration(kPatience); !outcome.closed && Clock::now() < end;) {
    pollfd entry{.fd = connection.socket(), .events = POLLIN, .revents = 0};
    if (::poll(&entry, 1, /*timeout=*/50) <= 0) continue;
    const auto some = connection.some();
    if (outcome.received.empty()) outcome.waited = Clock::now() - begin;
    outcome.closed = some.empty();
    outcome.received += some;
    end = Clock::now() + Clock::duration(kQuiet);
  }
  return outcome;
}

/// Whether a server has reason to wait for more: the header has no end, or the body is shorter than
/// it says or has no last chunk.
bool is_incomplete(const test::FuzzRequest& request) {
  if (request.half_close) return false;
  const auto& bytes = request.bytes;
  const auto end = bytes.find("\r\n\r\n");
  if (end == bytes.npos) return true;
  auto header = bytes.substr(0, end + 2);
  std::transform(header.begin(), header.end(), header.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  const auto body = bytes.substr(end + 4);
  if (header.find("\r\ntransfer-encoding: chunked\r\n") != header.npos)
    return body.find("0\r\n\r\n") == body.npos;
  const std::string length = "\r\ncontent-length: ";
  const auto at = header.find(length);
  return at != header.npos &&
         std::strtoull(header.c_str() + at + length.size(), nullptr, 10) > body.size();
}

}  // namespace

TEST(ServeFuzz, AnswersOrClosesWithinItsLimits) {
  // More connections than clients: those that a client has left are held for a moment.
  const test::FuzzTarget target(kLimits);
  std::atomic<uint64_t> next = 0;
  std::mutex mutex;
  std::map<std::string, std::map<std::string, int>> table;  // by kind and outcome
  const auto work = [&] {
    for (auto number = next++; number < kRequests; number = next++) {
      const auto request = test::fuzz_request(kSeed, number);
      const auto outcome = outcome_of(request, target.port());
      const bool late = outcome.waited > kSoon;
      const std::lock_guard lock(mutex);
      ++table[request.kind][outcome.status() + (late ? " late" : "")];
      const auto said = fmt::format("{} ({}):\n{}\n->\n{}", number, request.kind,
                                    request.bytes.substr(0, 600), outcome.received.substr(0, 400));
      EXPECT_FALSE(outcome.silent()) << said;
      EXPECT_TRUE(!late || is_incomplete(request)) << "nothing was missing: " << said;
      EXPECT_NE(outcome.status(), "no HTTP") << said;
      EXPECT_EQ(outcome.received.find("HTTP/1.1 500"), std::string::npos) << said;
    }
  };
  std::vector<std::future<void>> clients;
  for (int i = 0; i < kClients; ++i) clients.push_back(std::async(std::launch::async, work));
  for (auto& client : clients) client.get();
  for (const auto& [kind, outcomes] : table) {
    std::string line;
    for (const auto& [name, count] : outcomes) line += fmt::format("  {} x {}", count, name);
    std::cout << fmt::format("{:<16}{}\n", kind, line);
  }
  EXPECT_EQ(target.classify().size(), 4);
}

}  // namespace vitrine::serve
