#include <limits>
#include <nlohmann/json.hpp>

#include "vitrine/serve/engine/sample_stream.h"
#include "vitrine/serve/routes/common.h"
#include "vitrine/serve/routes/json_body.h"

// Sampling, as server-sent events: the tokens are sent while they are sampled.
namespace vitrine::serve {
namespace {

constexpr int64_t kMostSequences = 16;
constexpr int64_t kMostInteger = std::numeric_limits<int64_t>::max();
constexpr auto kLook =
    std::chrono::milliseconds(20);  // how often to see whether the client is there

std::string event_text(const char* name, const ordered_json& data) {
  return fmt::format("event: {}\ndata: {}\n\n", name, text_of(data));
}

ordered_json json_of(const SampledTokens& tokens) {
  if (!tokens.texts.empty()) return {{"texts", tokens.texts}};
  return {{"at", tokens.at}, {"values", tokens.values}};
}

/// Sends events until the sampling has ended or the client has gone.
void send_events(SampleStream& stream, const ordered_json& start, BodyStream& to) {
  try {
    bool here = to.send(event_text("start", start));
    while (here && !stream.ended()) {
      const auto tokens = stream.next(kLook);
      here = to.open() && (!tokens || to.send(event_text("tokens", json_of(*tokens))));
    }
    if (here)
      to.send(event_text("end", {{"tokens", stream.sampled()}, {"seconds", stream.seconds()}}));
  } catch (const std::exception& e) {
    to.send(event_text("error", {{"error", message_of(e)}}));
  }
}

Response sampled(const Active<ServedGenerator>& active, const GenerateOptions& options,
                 const Request& request, const RouteContext& context) {
  const auto deadline = deadline_of(request);
  const auto place = hold_place(context.streaming, "samplings");
  const auto& card = active.card();
  const auto stream = std::make_shared<SampleStream>(
      active, options, deadline, [&metrics = context.metrics, name = card.name](int64_t tokens) {
        metrics.count_tokens(name, tokens);
      });
  ordered_json start = {{"model", card.name},     {"unit", card.unit},
                        {"count", options.count}, {"total", card.context},
                        {"kept", stream->kept()}, {"image", serve::json_of(card.image)}};
  return {.type = "text/event-stream",
          .headers = {{"Cache-Control", "no-store"}},
          .stream = [place, stream, start = std::move(start)](BodyStream& to) {
            send_events(*stream, start, to);
          }};
}

Response sample(const Request& request, const RouteContext& context) {
  JsonBody body(request);
  const auto active = context.models.get<ServedGenerator>(body.text("model"), request.path);
  const GenerateOptions options{
      .count = body.integer("count", 1, 1, kMostSequences),
      .temperature = body.number("temperature", 1),
      .top_k = body.integer("top_k", 0, 0, kMostInteger),
      .seed = static_cast<uint64_t>(body.integer("seed", 1, 0, kMostInteger)),
      .text = body.text("text")};
  body.refuse_others();
  require(options.text.empty() || !active.model().makes_images(), 400,
          "{} generates images, which no text begins; send the upper part of one to /v1/complete",
          active.card().name);
  return sampled(active, options, request, context);
}

Response complete(const Request& request, const RouteContext& context) {
  const auto active = context.models.get<ServedGenerator>(
      request.parameter("model"), request.path, "a generator of images",
      [](const ServedGenerator& model) { return model.makes_images(); });
  GenerateOptions options{
      .count = integer_parameter(request, "count", 1, 1, kMostSequences),
      .temperature = number_parameter(request, "temperature", 1),
      .top_k = integer_parameter(request, "top_k", 0, 0, kMostInteger),
      .seed = static_cast<uint64_t>(integer_parameter(request, "seed", 1, 0, kMostInteger)),
      .keep = number_parameter(request, "keep", 0.5)};
  require(options.keep >= 0 && options.keep <= 1, 400, "keep={} is not between 0 and 1",
          options.keep);
  options.image = image_of(request, context);
  return sampled(active, options, request, context);
}

}  // namespace

void add_sample_routes(Router& router, const RouteContext& context) {
  router.add({"POST", "/v1/sample", [&](const Request& r) { return sample(r, context); }});
  router.add({"POST", "/v1/complete", [&](const Request& r) { return complete(r, context); }});
}

}  // namespace vitrine::serve
