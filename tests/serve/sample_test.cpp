#include <gtest/gtest.h>

#include <future>
#include <optional>

#include "tests/support/busy_model.h"
#include "tests/support/event_client.h"
#include "tests/support/raw_connection.h"
#include "tests/support/zoo_server.h"
#include "vitrine/infer/generate.h"

namespace vitrine::serve {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;

const std::string kPlanar =
    test::kImageBytes.substr(0, test::kImageBytes.size() - 1) + ", order: planar}";

constexpr int64_t kLong = 3072;  // bytes of test::kLongImage

/// What the events of a stream put together.
struct Received {
  std::vector<std::vector<int>> images{};  // -1 where no byte came
  std::vector<std::string> texts{};
};

Received put_together(const test::EventStream& stream) {
  const auto start = stream.first("start");
  const size_t count = start["count"];
  Received all;
  if (start["image"].is_null()) {
    all.texts.resize(count);
  } else {
    const int64_t bytes = start["image"]["width"].get<int64_t>() *
                          start["image"]["height"].get<int64_t>() *
                          start["image"]["channels"].get<int64_t>();
    all.images.assign(count, std::vector<int>(bytes, -1));
  }
  for (const auto& [name, data] : stream.events) {
    if (name != "tokens") continue;
    for (size_t b = 0; b < count; ++b) {
      if (data.contains("texts")) {
        all.texts[b] += data["texts"][b].get<std::string>();
        continue;
      }
      EXPECT_EQ(data["at"].size(), data["values"][b].size());
      for (size_t i = 0; i < data["at"].size(); ++i) {
        auto& byte = all.images[b].at(data["at"][i].get<size_t>());
        EXPECT_EQ(byte, -1) << "a byte came twice";
        byte = data["values"][b][i];
      }
    }
  }
  return all;
}

/// The text as JSON carries it: bytes that are no UTF-8 are replaced.
std::string through_json(const std::string& text) {
  return json::parse(json(text).dump(-1, ' ', false, json::error_handler_t::replace));
}

void expect_same(const Received& received, const Generated& made) {
  ASSERT_EQ(received.images.size(), made.images.size());
  for (size_t i = 0; i < made.images.size(); ++i)
    EXPECT_EQ(received.images[i],
              std::vector<int>(made.images[i].pixels.begin(), made.images[i].pixels.end()));
  ASSERT_EQ(received.texts.size(), made.texts.size());
  for (size_t i = 0; i < made.texts.size(); ++i)
    EXPECT_EQ(received.texts[i], through_json(made.texts[i]));
}

test::EventStream sample(const test::ZooServer& s, const json& body) {
  return test::post_for_events(s.port(), "/v1/sample", body.dump());
}

httplib::Result post_sample(const test::ZooServer& s, const json& body,
                            const httplib::Headers& headers = {}) {
  return s.client().Post("/v1/sample", headers, body.dump(), "application/json");
}

const std::string kLongTokens = "vitrine_tokens_total{model=\"long\"}";

/// A client of /v1/sample on a thread of its own, which may leave when it has the first tokens.
class SampleClient {
 public:
  SampleClient(const test::ZooServer& s, const std::string& body, bool leaves = false,
               const httplib::Headers& headers = {})
      : stream_(std::async(std::launch::async, [=, this, port = s.port()] {
          const auto take = [&](const test::Event& event) {
            if (event.name == "tokens") tell();
            return event.name != "tokens" || !leaves;
          };
          auto answer = test::post_for_events(port, "/v1/sample", body, take, headers);
          tell();
          return answer;
        })) {}

  /// Returns when tokens have come, or the answer has ended without.
  void wait_for_tokens() { has_tokens_.get_future().wait(); }
  bool has_ended() const { return stream_.wait_for(0s) == std::future_status::ready; }
  test::EventStream stream() { return stream_.get(); }

 private:
  void tell() {
    if (!std::exchange(told_, true)) has_tokens_.set_value();
  }

  std::promise<void> has_tokens_;
  bool told_ = false;
  std::future<test::EventStream> stream_;
};

void wait_until_waiting(const test::BusyModel& busy, int64_t count) {
  while (busy.waiting() < count) std::this_thread::sleep_for(1ms);
}

/// A sampling whose deadline passes behind its start; status 504 if it could not start before.
test::EventStream overdue(const test::ZooServer& s, std::chrono::milliseconds timeout) {
  std::optional<test::BusyModel> busy(std::in_place, *s.server, "long");
  SampleClient client(s, "{}", /*leaves=*/false,
                      {{"X-Timeout-Ms", std::to_string(timeout.count())}});
  while (busy->waiting() < 1 && !client.has_ended()) std::this_thread::sleep_for(1ms);
  busy->give_turns();  // it starts
  std::this_thread::sleep_for(timeout);
  busy.reset();
  return client.stream();
}

}  // namespace

TEST(ServeSample, SendsWhatTheCommandSamples) {
  const test::ZooServer s({{"bytes", test::kImageBytes},
                           {"planar", kPlanar},
                           {"colors", test::kImageColors},
                           {"texts", test::kTextBytes},
                           {"words", test::kSentences}});
  for (const std::string model : {"bytes", "planar", "colors", "texts", "words"}) {
    const GenerateOptions options{.count = 3, .temperature = 0.9, .top_k = 100, .seed = 5};
    const auto made = generate(s.path_of(model), options);
    const auto stream = sample(
        s, {{"model", model}, {"count", 3}, {"temperature", 0.9}, {"top_k", 100}, {"seed", 5}});
    ASSERT_EQ(stream.status, 200) << stream.body;
    EXPECT_EQ(stream.events.front().name, "start");
    EXPECT_EQ(stream.events.back().name, "end");
    const auto start = stream.first("start");
    EXPECT_EQ(start["model"], model);
    EXPECT_EQ(start["unit"], made.unit);
    EXPECT_EQ(start["kept"], 0);
    EXPECT_EQ(stream.first("end")["tokens"], made.tokens);
    EXPECT_GT(stream.first("end")["seconds"], 0);
    expect_same(put_together(stream), made);
  }
}

TEST(ServeSample, ContinuesATextAsTheCommandDoes) {
  const test::ZooServer s({{"texts", test::kTextBytes}, {"words", test::kSentences}});
  for (const auto& [model, text, kept] :
       {std::tuple{"texts", "Once \xed\x95\x9c", 8}, std::tuple{"words", "The Cat", 2}}) {
    const auto stream = sample(s, {{"model", model}, {"count", 2}, {"text", text}});
    ASSERT_EQ(stream.status, 200) << stream.body;
    EXPECT_EQ(stream.first("start")["kept"], kept);
    expect_same(put_together(stream), generate(s.path_of(model), {.count = 2, .text = text}));
  }
  EXPECT_EQ(sample(s, {{"model", "words"}, {"text", "The Cat"}}).first("tokens")["texts"][0],
            "the cat");
}

TEST(ServeSample, CompletesAnImageAsTheCommandDoes) {
  const test::ZooServer s({{"bytes", test::kImageBytes}, {"colors", test::kImageColors}});
  const std::map<std::string, std::pair<int, int>> sizes = {{"bytes", {5, 4}}, {"colors", {8, 8}}};
  for (const auto& [model, size] : sizes) {
    const auto png = test::noise_png(3, size.first, size.second);
    const auto stream = test::post_for_events(
        s.port(), "/v1/complete?model=" + model + "&keep=0.5&count=2&seed=9", png);
    ASSERT_EQ(stream.status, 200) << stream.body;
    const auto made = generate(
        s.path_of(model), {.count = 2, .seed = 9, .image = decode_image(png, "png"), .keep = 0.5});
    expect_same(put_together(stream), made);
    const auto half = size.first * size.second * 3 / 2;
    EXPECT_EQ(stream.first("start")["kept"], model == "colors" ? half / 3 : half);
    std::vector<int> upper(half);
    std::iota(upper.begin(), upper.end(), 0);
    EXPECT_EQ(stream.first("tokens")["at"], upper);
    EXPECT_EQ(stream.first("end")["tokens"], made.tokens);
  }
}

TEST(ServeSample, SendsTokensWhileItSamples) {
  const test::ZooServer s({{"long", test::kLongImage}});
  std::optional<test::BusyModel> busy(std::in_place, *s.server, "long");
  SampleClient client(s, "{}");
  wait_until_waiting(*busy, 1);
  busy->give_turns();  // it starts
  busy->give_turns();  // it samples for a moment
  client.wait_for_tokens();
  const auto sampled_then = s.metric(kLongTokens);
  EXPECT_GT(sampled_then, 0);
  EXPECT_LT(sampled_then, kLong);
  busy.reset();
  const auto stream = client.stream();
  EXPECT_EQ(stream.first("end")["tokens"], kLong);
  EXPECT_EQ(s.metric(kLongTokens), kLong);
  EXPECT_GT(stream.events.size(), 4);
}

TEST(ServeSample, StopsWhenTheClientLeaves) {
  const test::ZooServer s({{"long", test::kLongImage}});
  test::BusyModel busy(*s.server, "long");
  SampleClient client(s, R"({"count": 16})", /*leaves=*/true);
  wait_until_waiting(busy, 1);
  busy.give_turns();
  busy.give_turns();
  client.stream();
  const std::string answered = "vitrine_requests_total{route=\"/v1/sample\",status=\"200\"}";
  while (s.metric(answered) == 0) std::this_thread::sleep_for(5ms);
  const auto sampled = s.metric(kLongTokens);
  EXPECT_GT(sampled, 0);
  busy.give_turns();
  EXPECT_EQ(s.metric(kLongTokens), sampled);
}

TEST(ServeSample, SamplesForTwoClientsInTurns) {
  const test::ZooServer s({{"long", test::kLongImage}});
  std::optional<test::BusyModel> busy(std::in_place, *s.server, "long");
  SampleClient first(s, "{}"), second(s, R"({"seed": 2})");
  wait_until_waiting(*busy, 2);
  busy->give_turns();
  busy->give_turns();
  first.wait_for_tokens();
  second.wait_for_tokens();
  // Both have tokens when the two together have not yet as many as one has in the end.
  EXPECT_LT(s.metric(kLongTokens), kLong);
  busy.reset();
  const auto one = first.stream(), other = second.stream();
  EXPECT_EQ(one.first("end")["tokens"], kLong);
  EXPECT_EQ(other.first("end")["tokens"], kLong);
  EXPECT_NE(put_together(one).images, put_together(other).images);
}

TEST(ServeSample, FinishesAStreamBeforeTheServerStops) {
  test::ZooServer s({{"long", test::kLongImage}});
  std::future<void> stopped;
  const auto stream =
      test::post_for_events(s.port(), "/v1/sample", "{}", [&](const test::Event& event) {
        if (event.name != "tokens" || stopped.valid()) return true;
        stopped = std::async(std::launch::async, [&] { s.server->stop(); });
        for (bool accepts = true; accepts;) {
          const auto late = s.client().Get("/v2/health/live");
          accepts = late && late->status == 200;
        }
        return true;
      });
  stopped.get();
  EXPECT_EQ(stream.events.back().name, "end");
  EXPECT_EQ(stream.first("end")["tokens"], kLong);
}

TEST(ServeSample, HoldsABoundedNumberOfStreams) {
  const test::ZooServer s({{"words", test::kSentences}});
  std::vector<std::future<int>> streams;
  {
    const test::BusyModel busy(*s.server, "words");
    for (int i = 0; i < 8; ++i)
      streams.push_back(
          std::async(std::launch::async, [&] { return sample(s, json::object()).status; }));
    while (busy.waiting() < 8) std::this_thread::sleep_for(1ms);
    test::expect_error(post_sample(s, json::object()), 503, "too many samplings");
  }
  for (auto& status : streams) EXPECT_EQ(status.get(), 200);
  EXPECT_EQ(sample(s, json::object()).status, 200);
}

TEST(ServeSample, KeepsTheDeadlineBeforeAndBehindTheStart) {
  const test::ZooServer s({{"long", test::kLongImage}});
  {
    const test::BusyModel busy(*s.server, "long");
    test::expect_error(post_sample(s, json::object(), {{"X-Timeout-Ms", "20"}}), 504, "deadline");
  }
  auto timeout = 500ms;
  auto stream = overdue(s, timeout);
  while (stream.status == 504) stream = overdue(s, timeout *= 2);  // on a busy machine
  ASSERT_FALSE(stream.events.empty()) << stream.body;
  EXPECT_EQ(stream.events.front().name, "start");
  EXPECT_EQ(stream.events.back().name, "error");
  EXPECT_NE(stream.first("error")["error"].get<std::string>().find("deadline"), std::string::npos);
  EXPECT_EQ(s.metric(kLongTokens), 0);
}

TEST(ServeSample, LogsAStreamWhenItHasEnded) {
  test::ZooServer s({{"words", test::kSentences}});
  const auto stream = sample(s, json::object());
  s.server->stop();
  const auto line = json::parse(s.log.str());
  EXPECT_EQ(line["path"], "/v1/sample");
  EXPECT_EQ(line["status"], 200);
  EXPECT_GT(line["sent"], 100);
}

TEST(ServeSample, AnswersOldClientsAsAWhole) {
  const test::ZooServer s({{"words", test::kSentences}});
  test::RawConnection old(s.port());
  old.send("POST /v1/sample HTTP/1.0\r\nContent-Length: 2\r\n\r\n{}");
  const auto answer = old.rest();
  EXPECT_NE(answer.find("Content-Length: "), std::string::npos) << answer;
  EXPECT_EQ(answer.find("chunked"), std::string::npos);
  EXPECT_NE(answer.find("\r\n\r\nevent: start\n"), std::string::npos);
  EXPECT_NE(answer.find("event: end\n"), std::string::npos);
}

TEST(ServeSample, KeepsTheConnectionForTheNextRequest) {
  const test::ZooServer s({{"words", test::kSentences}});
  test::RawConnection connection(s.port());
  connection.send(
      "POST /v1/sample HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}"
      "GET /v2/health/live HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  const auto answers = connection.rest();
  EXPECT_NE(answers.find("\r\n0\r\n\r\nHTTP/1.1 200"), std::string::npos) << answers;
  EXPECT_NE(answers.find("{\"live\":true}"), std::string::npos);
}

TEST(ServeSample, NamesWhatIsWrongBeforeTheStart) {
  const test::ZooServer s({{"bytes", test::kImageBytes},
                           {"planar", kPlanar},
                           {"words", test::kSentences},
                           {"adder", "{name: addition_cnn}"}});
  const auto refused = [&](const json& body, const std::string& words) {
    test::expect_error(post_sample(s, body), 400, words);
  };
  refused(json::object(), "say which model: model=NAME with one of bytes, planar, words");
  refused({{"model", "adder"}}, "adder adds two numbers; /v1/sample takes a generator");
  refused({{"model", "bytes"}, {"text", "a"}}, "bytes generates images");
  refused({{"model", "words"}, {"text", "the catt"}}, "the word 'catt' is not in");
  refused({{"model", "words"}, {"text", std::string(5000, 'a')}}, "5000 bytes are given");
  refused({{"model", "words"}, {"count", 17}}, "count: 17 is not a whole number from 1 to 16");
  refused({{"model", "words"}, {"count", 1.5}}, "count: 1.5");
  refused({{"model", "words"}, {"temperature", 0}}, "temperature 0");
  refused({{"model", "words"}, {"temperature", "hot"}}, "temperature: \"hot\" is not a number");
  refused({{"model", "words"}, {"seed", -1}}, "seed: -1");
  refused({{"model", "words"}, {"sed", 1}}, "'sed' is not known (known: count, model, seed");
  refused(json::array(), "expected an object");
  test::expect_error(post_sample(s, {{"model", "none"}}), 404, "model 'none' is not known");
  auto client = s.client();
  test::expect_error(client.Post("/v1/sample", "{", "application/json"), 400, "not JSON");
  const auto png = test::noise_png(1, 5, 4);
  const auto complete = [&](const std::string& query, const std::string& body,
                            const std::string& words) {
    test::expect_error(client.Post("/v1/complete?" + query, body, test::kPng), 400, words);
  };
  complete("model=words", png, "words generates text; /v1/complete takes a generator of images");
  complete("model=bytes", test::noise_png(1, 6, 4), "the image is 6 x 4 with 3 channels");
  complete("model=bytes&keep=1.5", png, "keep=1.5");
  complete("model=bytes&temperature=nan", png, "temperature=nan");
  complete("model=bytes&count=0", png, "count=0");
  complete("model=planar", png, "order: planar");
  complete("model=bytes", "", "no image");
}

TEST(ServeSample, CutsNoCharacterOfAText) {
  EXPECT_EQ(whole_characters("ab"), 2);
  EXPECT_EQ(whole_characters("a\xed\x95\x9c"), 4);  // U+D55C
  EXPECT_EQ(whole_characters("a\xed\x95"), 1);
  EXPECT_EQ(whole_characters("a\xed"), 1);
  EXPECT_EQ(whole_characters("a\xc3\xa9"), 3);
  EXPECT_EQ(whole_characters("a\xf0\x9f\x98"), 1);
  EXPECT_EQ(whole_characters("\x80\x80\x80\x80"), 4);  // no character at all
  EXPECT_EQ(whole_characters("\xff"), 1);
  EXPECT_EQ(whole_characters(""), 0);
}

}  // namespace vitrine::serve
