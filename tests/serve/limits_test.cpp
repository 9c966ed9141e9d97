#include <gtest/gtest.h>
#include <poll.h>
#include <zlib.h>

#include <future>

#include "tests/support/busy_model.h"
#include "tests/support/raw_connection.h"
#include "tests/support/small_server.h"

namespace vitrine::serve {
namespace {

using namespace std::chrono_literals;

/// A PNG file whose header claims that it is this large.
std::string huge_png(uint32_t side) {
  auto png = test::noise_png(1);
  const auto put = [&](size_t at, uint32_t value) {
    for (int i = 0; i < 4; ++i) png[at + i] = static_cast<char>(value >> (24 - 8 * i));
  };
  put(16, side);
  put(20, side);
  constexpr size_t kType = 12, kChecked = 17;  // of the chunk IHDR: its type and 13 bytes
  put(29, static_cast<uint32_t>(
              crc32(0, reinterpret_cast<const Bytef*>(png.data() + kType), kChecked)));
  return png;
}

auto classify(const test::SmallServer& s, const httplib::Headers& headers = {}) {
  return s.client().Post("/v1/classify", headers, test::noise_png(1), test::kPng);
}

/// The status of an answer; 0 and a failure if there is none.
int status_of(const httplib::Result& result) {
  EXPECT_TRUE(result) << httplib::to_string(result.error());
  return result ? result->status : 0;
}

/// Sends a byte now and then until the server answers or closes; all that came.
std::string rest_while_sending_slowly(test::RawConnection& connection) {
  pollfd entry{.fd = connection.socket(), .events = POLLIN, .revents = 0};
  while (connection.send("x") && ::poll(&entry, 1, /*timeout=*/20) == 0) {
  }
  return connection.rest();
}

}  // namespace

TEST(ServeLimits, RefusesMoreThanTheQueueHolds) {
  const test::SmallServer s({.batch = {.queue = 2}});
  std::vector<std::future<int>> accepted;
  {
    const test::BusyModel busy(*s.server);
    for (int i = 0; i < 2; ++i)
      accepted.push_back(std::async(std::launch::async, [&] { return status_of(classify(s)); }));
    while (busy.waiting() < 2) std::this_thread::sleep_for(1ms);
    const auto refused = classify(s);
    test::expect_error(refused, 503, "the queue is full");
    EXPECT_EQ(refused->get_header_value("Retry-After"), "1");
  }
  for (auto& status : accepted) EXPECT_EQ(status.get(), 200);
}

TEST(ServeLimits, RefusesWhatTheQueueCannotHoldBeforeItIsDecoded) {
  const test::SmallServer s({.batch = {.queue = 1}});
  std::future<int> accepted;
  {
    const test::BusyModel busy(*s.server);
    accepted = std::async(std::launch::async, [&] { return status_of(classify(s)); });
    while (busy.waiting() < 1) std::this_thread::sleep_for(1ms);
    for (const auto* path : {"/v1/classify", "/v2/models/small/infer"})
      test::expect_error(s.client().Post(path, "no image, no tensor", test::kPng), 503,
                         "the queue is full");
  }
  EXPECT_EQ(accepted.get(), 200);
}

TEST(ServeLimits, BoundsTheMemoryOfAnswersUnderWay) {
  const test::SmallServer s({.max_answers = 1});  // of any size there may be one
  const auto ask = [&] { return s.client().Post("/v1/attention", test::noise_png(1), test::kPng); };
  std::future<int> accepted;
  {
    const test::BusyModel busy(*s.server);
    accepted = std::async(std::launch::async, [&] { return status_of(ask()); });
    while (busy.waiting() < 1) std::this_thread::sleep_for(1ms);
    const auto refused = ask();
    test::expect_error(refused, 503, "the answers under way take");
    EXPECT_EQ(refused->get_header_value("Retry-After"), "1");
  }
  EXPECT_EQ(accepted.get(), 200);
  int status = 503;  // until the server knows that the first one is sent
  for (int i = 0; i < 60000 && status == 503; ++i) status = status_of(ask());
  EXPECT_EQ(status, 200);
}

TEST(ServeLimits, AnswersAtTheDeadline) {
  const test::SmallServer s;
  {
    const test::BusyModel busy(*s.server);
    test::expect_error(classify(s, {{"X-Timeout-Ms", "20"}}), 504, "deadline");
  }
  EXPECT_EQ(classify(s, {{"X-Timeout-Ms", "60000"}})->status, 200);
  test::expect_error(classify(s, {{"X-Timeout-Ms", "soon"}}), 400, "X-Timeout-Ms=soon");
}

TEST(ServeLimits, RefusesBodiesThatAreTooLarge) {
  const test::SmallServer s({.transport = {.max_body = 4096}});
  test::expect_error(s.client().Post("/v1/classify", std::string(5000, 'x'), test::kPng), 413,
                     "4096 bytes");
  test::expect_error(s.client().Post("/v1/classify", std::string(4000, 'x'), test::kPng), 400,
                     "not a JPEG");
  const httplib::MultipartFormDataItems form = {{"image", std::string(4090, 'x'), "", test::kPng},
                                                {"switch", std::string(90, 'x'), "", ""}};
  EXPECT_EQ(s.client().Post("/v1/ablate", form)->status, 413);
  test::RawConnection chunked(s.server->port());  // states no length
  chunked.send(
      "POST /v1/classify HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n");
  for (int i = 0; i < 3; ++i) chunked.send("800\r\n" + std::string(2048, 'x') + "\r\n");
  EXPECT_NE(chunked.rest().find(" 413 "), std::string::npos);
}

TEST(ServeLimits, RefusesImagesThatWouldGrowTooLarge) {
  const test::SmallServer s;
  test::expect_error(s.client().Post("/v1/classify", huge_png(20000), test::kPng), 413,
                     "20000 x 20000 pixels");
}

TEST(ServeLimits, RefusesHeadersThatContradictEachOther) {
  const test::SmallServer s;
  for (const auto* headers : {"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n",
                              "Content-Length: 3\r\nContent-Length: 4\r\n",
                              "Content-Length: -1\r\n", "Content-Length: 3x\r\n"}) {
    test::RawConnection connection(s.server->port());
    connection.send(std::string("POST /v1/classify HTTP/1.1\r\nHost: localhost\r\n") + headers +
                    "\r\nabc");
    EXPECT_NE(connection.rest().find(" 400 "), std::string::npos) << headers;
  }
}

TEST(ServeLimits, RefusesTransferCodingsItDoesNotKnowAtOnce) {
  const test::SmallServer s;  // which would wait 30 s for the end of such a body
  test::RawConnection connection(s.server->port());
  connection.send(
      "POST /v1/classify HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: gzip\r\n\r\n");
  EXPECT_NE(connection.some().find(" 400 "), std::string::npos);
}

TEST(ServeLimits, TakesNothingBehindABrokenChunkForARequest) {
  const test::SmallServer s;
  test::RawConnection connection(s.server->port());
  connection.send(
      "POST /v1/classify HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
      "3\r\nabcd\r\nGET /v2/health/live HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_EQ(connection.rest().find("{\"live\""), std::string::npos);
}

TEST(ServeLimits, AnswersAsAWholeWhateverRangesAreAsked) {
  const test::SmallServer s;
  std::string ranges = "bytes=0-";
  for (int i = 0; i < 2000; ++i) ranges += ",0-";
  const auto whole = s.client().Get("/openapi.json"),
             asked = s.client().Get("/openapi.json", {{"Range", ranges}});
  ASSERT_TRUE(whole && asked);
  EXPECT_EQ(asked->status, 200);
  EXPECT_EQ(asked->body, whole->body);
}

TEST(ServeLimits, EndsABodyThatComesTooSlowly) {
  const test::SmallServer s({.transport = {.body_seconds = 0.3}});
  test::RawConnection slow(s.server->port());
  slow.send("POST /v1/classify HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n");
  const auto answer = rest_while_sending_slowly(slow);
  EXPECT_NE(answer.find(" 400 "), std::string::npos) << answer;
  EXPECT_NE(answer.find("the body did not come whole"), std::string::npos) << answer;
  EXPECT_EQ(status_of(s.client().Get("/v1/models")), 200);
}

TEST(ServeLimits, EndsAHeaderThatComesTooSlowly) {
  const test::SmallServer s({.transport = {.header_seconds = 0.3}});
  test::RawConnection slow(s.server->port());
  slow.send("GET /v1/models HTTP/1.1\r\n");
  const auto answer = rest_while_sending_slowly(slow);
  EXPECT_NE(answer.find(" 400 "), std::string::npos) << answer;
  EXPECT_NE(answer.find("Connection: close"), std::string::npos) << answer;
}

TEST(ServeLimits, EndsAHeaderThatHasNoEnd) {
  const test::SmallServer s;
  test::RawConnection endless(s.server->port());
  endless.send("GET /");
  while (endless.send(std::string(4096, 'a'))) {  // until the server has closed
  }
  EXPECT_EQ(status_of(classify(s)), 200);
}

TEST(ServeLimits, RefusesConnectionsBeyondItsThreads) {
  const test::SmallServer s({.transport = {.connections = 2}});
  const test::RawConnection first(s.server->port()), second(s.server->port());
  test::expect_error(s.client().Get("/v1/models"), 503, "too many connections");
}

TEST(ServeLimits, AnswersWhatItAcceptedBeforeItStops) {
  test::SmallServer s;
  std::vector<std::future<int>> accepted;
  std::future<void> stopped;
  {
    const test::BusyModel busy(*s.server);
    for (int i = 0; i < 3; ++i)
      accepted.push_back(std::async(std::launch::async, [&] { return status_of(classify(s)); }));
    while (busy.waiting() < 3) std::this_thread::sleep_for(1ms);
    stopped = std::async(std::launch::async, [&] { s.server->stop(); });
    for (bool accepts = true; accepts;) {
      const auto late = s.client().Get("/v2/health/live");
      accepts = late && late->status == 200;
      EXPECT_TRUE(accepts || !late || late->status == 503);
    }
  }
  for (auto& status : accepted) EXPECT_EQ(status.get(), 200);
  stopped.get();
  EXPECT_FALSE(classify(s));
}

TEST(ServeAccess, WantsTheTokenBeforeItReadsTheBody) {
  const test::SmallServer s({.token = "secret"});
  EXPECT_EQ(classify(s)->status, 401);
  EXPECT_EQ(classify(s, {{"Authorization", "Bearer wrong"}})->status, 401);
  EXPECT_EQ(classify(s, {{"Authorization", "Bearer secret"}})->status, 200);
  EXPECT_EQ(s.client().Get("/v2/health/live")->status, 200);
  EXPECT_EQ(s.client().Get("/v1/models")->status, 401);
}

TEST(ServeAccess, AnswersPagesOfNoOtherOrigin) {
  const test::SmallServer closed, open({.cors = "https://example.org"});
  const httplib::Headers foreign = {{"Origin", "https://example.org"}};
  test::expect_error(classify(closed, foreign), 403, "--cors");
  const auto port = std::to_string(closed.server->port());
  EXPECT_EQ(classify(closed, {{"Origin", "http://127.0.0.1:" + port}})->status, 200);
  const auto answer = classify(open, foreign);
  EXPECT_EQ(answer->status, 200);
  EXPECT_EQ(answer->get_header_value("Access-Control-Allow-Origin"), "https://example.org");
  EXPECT_EQ(open.client().Options("/v1/classify", foreign)->status, 204);
  test::expect_error(classify(open, {{"Origin", "https://example.com"}}), 403, "--cors");
}

TEST(ServeAccess, AnswersNoOtherHostNameOnThisMachine) {
  const test::SmallServer s;
  test::expect_error(classify(s, {{"Host", "evil.example:8080"}}), 403, "evil.example");
  test::expect_error(classify(s, {{"Host", "127.evil.example:8080"}}), 403, "127.evil.example");
  EXPECT_EQ(classify(s, {{"Host", "127.0.0.1:9"}})->status, 200);
  EXPECT_EQ(classify(s, {{"Host", "localhost:9"}})->status, 200);
}

}  // namespace vitrine::serve
