#pragma once

#include <atomic>
#include <nlohmann/json.hpp>
#include <semaphore>

#include "vitrine/serve/config.h"
#include "vitrine/serve/engine/model_store.h"
#include "vitrine/serve/engine/served_adder.h"
#include "vitrine/serve/engine/served_classifier.h"
#include "vitrine/serve/engine/served_generator.h"
#include "vitrine/serve/engine/test_images.h"
#include "vitrine/serve/http.h"
#include "vitrine/serve/metrics.h"
#include "vitrine/serve/router.h"
#include "vitrine/serve/routes/answer_memory.h"

namespace vitrine::serve {

using nlohmann::ordered_json;

/// What the handlers of routes use.
struct RouteContext {
  const ServeConfig& config;
  ModelStore& models;
  Metrics& metrics;
  const std::atomic<bool>& draining;
  // Decoded images and parsed tensors take much more memory than what was sent.
  mutable std::counting_semaphore<64> decoding{4};     // requests that are being decoded
  mutable std::counting_semaphore<64> explaining{16};  // requests that hold a decoded image
  mutable std::counting_semaphore<64> streaming{8};    // sequences that are sampled hold KV caches
  mutable AnswerMemory answers{config.max_answers};    // attention weights that are made or sent
  mutable TestImages test_images{};
};

// One per file of this folder; they add their routes.
void add_people_routes(Router& router, const RouteContext& context);
void add_explore_routes(Router& router, const RouteContext& context);
void add_sample_routes(Router& router, const RouteContext& context);
void add_token_routes(Router& router, const RouteContext& context);
void add_run_routes(Router& router, const RouteContext& context);
void add_prediction_routes(Router& router, const RouteContext& context);
void add_sweep_routes(Router& router, const RouteContext& context);
void add_infer_routes(Router& router, const RouteContext& context);
void add_page_routes(Router& router, const RouteContext& context);

/// JSON as text in one line; bytes that are no UTF-8 are replaced.
std::string text_of(const ordered_json& json);
/// The same as an answer.
Response json_response(const ordered_json& json);

ordered_json json_of(const std::vector<Prediction>& predictions);
/// {"width", "height", "channels"} or null.
ordered_json json_of(const std::optional<ImageLayout>& image);

/// The whole number that a text is; throws if it is none or outside `least` to `most`.
int64_t integer_of(const std::string& text, const std::string& name, int64_t least, int64_t most);
/// A whole number of the query; throws if it is none or outside `least` to `most`.
int64_t integer_parameter(const Request& request, const std::string& name, int64_t otherwise,
                          int64_t least, int64_t most);

/// The same for a number; throws if it is none or not finite.
double number_parameter(const Request& request, const std::string& name, double otherwise);
/// How many classes are wanted.
int64_t top_parameter(const Request& request);

/// The classifier that the query names, or the only one.
Active<ServedClassifier> classifier_of(const Request& request, const RouteContext& context);

/// When the client wants its answer: X-Timeout-Ms from now.
Deadline deadline_of(const Request& request);

/// The run in --runs that a request names; throws unless it is there.
RunFolder run_of(const Request& request, const RouteContext& context);
/// Whether the folder is that of a sweep; its recipe.yaml does not make it a run.
bool holds_sweep(const fs::path& folder);
int64_t seconds_since_1970(fs::file_time_type time);

/// The image that was sent, as the body or as the field `image`.
Image image_of(const Request& request, const RouteContext& context);

/// A method as clients write it: "rollout", "relevance", "grad-cam".
std::string method_name(ExplainMethod method);

/// One of a semaphore's places, for as long as it is held; throws if none is free. `what` is under
/// way too often then.
std::shared_ptr<const void> hold_place(std::counting_semaphore<64>& places, const char* what);

/// Holds one of a semaphore's places.
class Place {
 public:
  explicit Place(std::counting_semaphore<64>& places) : places_(places) { places_.acquire(); }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;
  ~Place() { places_.release(); }

 private:
  std::counting_semaphore<64>& places_;
};

}  // namespace vitrine::serve
