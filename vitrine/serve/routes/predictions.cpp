#include "vitrine/train/predictions.h"

#include <algorithm>
#include <map>

#include "vitrine/core/image_files.h"
#include "vitrine/data/resize.h"
#include "vitrine/serve/routes/common.h"

// What the classifier of a finished run answered to the test set: confusion matrix, examples behind
// its cells, and their images.
namespace vitrine::serve {
namespace {

constexpr int64_t kAnyClass = -1;

/// The run that a request names; throws unless it tells its predictions.
RunFolder tested_run_of(const Request& request, const RouteContext& context) {
  auto run = run_of(request, context);
  std::error_code error;
  require(fs::is_regular_file(run.predictions(), error), 404,
          "run '{}' has no predictions.json, which the run of a classifier writes at its end",
          request.path_part("name"));
  return run;
}

Response confusion_matrix(const Request& request, const RouteContext& context) {
  const auto predictions = read_predictions(tested_run_of(request, context).predictions());
  std::map<std::pair<int64_t, int64_t>, int64_t> counts;
  for (const auto& e : predictions.examples) ++counts[{e.truth, e.predicted}];
  auto cells = ordered_json::array();
  for (const auto& [cell, count] : counts)
    cells.push_back(std::vector<int64_t>{cell.first, cell.second, count});
  return json_response({{"classes", predictions.classes},
                        {"examples", predictions.examples.size()},
                        {"cells", cells}});
}

Response list_examples(const Request& request, const RouteContext& context) {
  constexpr int64_t kMost = 1'000'000'000;
  auto predictions = read_predictions(tested_run_of(request, context).predictions());
  const auto last_class = std::ssize(predictions.classes) - 1;
  const auto truth = integer_parameter(request, "true", kAnyClass, 0, last_class),
             predicted = integer_parameter(request, "predicted", kAnyClass, 0, last_class),
             offset = integer_parameter(request, "offset", /*otherwise=*/0, 0, kMost),
             limit = integer_parameter(request, "limit", /*otherwise=*/24, 1, 1000);
  auto& chosen = predictions.examples;
  std::erase_if(chosen, [&](const ExamplePrediction& e) {
    return (truth != kAnyClass && e.truth != truth) ||
           (predicted != kAnyClass && e.predicted != predicted);
  });
  std::stable_sort(chosen.begin(), chosen.end(),
                   [](const auto& a, const auto& b) { return a.probability > b.probability; });
  auto list = ordered_json::array();
  for (auto i = offset; i < std::ssize(chosen) && i < offset + limit; ++i) {
    const auto& e = chosen[i];
    list.push_back({{"index", e.index},
                    {"true", e.truth},
                    {"predicted", e.predicted},
                    {"probability", e.probability},
                    {"true_probability", e.truth_probability}});
  }
  return json_response({{"total", chosen.size()}, {"examples", list}});
}

Response test_image(const Request& request, const RouteContext& context) {
  const auto run = tested_run_of(request, context);
  try {
    const auto images = context.test_images.of(run);
    const auto index = integer_of(request.path_part("index"), "index", 0, images->size() - 1);
    const Place place(context.decoding);
    return {.type = "image/png", .body = encode_png(thumbnail(images->get(index).image))};
  } catch (const HttpError&) {
    throw;
  } catch (const Error& e) {  // the data set is not there, or another
    throw HttpError(409, e.what());
  }
}

}  // namespace

void add_prediction_routes(Router& router, const RouteContext& context) {
  router.add({"GET", "/v1/runs/{name}/confusion",
              [&](const Request& r) { return confusion_matrix(r, context); }});
  router.add({"GET", "/v1/runs/{name}/predictions",
              [&](const Request& r) { return list_examples(r, context); }});
  router.add({"GET", "/v1/runs/{name}/images/{index}",
              [&](const Request& r) { return test_image(r, context); }});
}

}  // namespace vitrine::serve
