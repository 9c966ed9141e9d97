#include <nlohmann/json.hpp>
#include <optional>

#include "vitrine/cli/commands.h"
#include "vitrine/cli/options.h"
#include "vitrine/core/error.h"
#include "vitrine/core/peak_memory.h"
#include "vitrine/core/progress.h"
#include "vitrine/infer/device.h"
#include "vitrine/infer/precision.h"
#include "vitrine/inspect/model_memory.h"
#include "vitrine/inspect/summary.h"
#include "vitrine/models/model.h"
#include "vitrine/models/registry.h"
#include "vitrine/ops/runtime.h"
#include "vitrine/train/throughput.h"
#include "vitrine/weights/checkpoint.h"

namespace vitrine::cli {
namespace {

struct BenchOptions {
  std::string model = "vit_c10_small";
  std::vector<std::string> overrides;
  int64_t batch = 32;
  int64_t image = 0;
  double seconds = 5;
  std::string device = "cpu";
  Precision precision = Precision::Float32;
  int64_t threads = 0;
  bool recompute = false;
  bool ops = false;
  bool json = false;
};

// A backward pass costs two products for each one of the forward pass; a multiply-add is 2 FLOP.
constexpr double kTrainFlops = 6, kInferFlops = 2;
constexpr double kLongest = 86400;  // seconds

/// "4.56 ms" or, from a second on, "2.31 s".
std::string step_time_text(double milliseconds) {
  return milliseconds < 1000 ? three_digits(milliseconds) + " ms"
                             : three_digits(milliseconds / 1000) + " s";
}

/// The operators that take most of a step.
std::string ops_text(const Throughput& measured) {
  constexpr size_t kMost = 15;
  const auto steps = static_cast<double>(measured.steps);
  auto text = fmt::format("\n{:>10}  {:>6}  {:>10}  operator\n", "ms a step", "share", "calls");
  for (size_t i = 0; i < std::min(kMost, measured.ops.size()); ++i) {
    const auto& op = measured.ops[i];
    text += fmt::format("{:>10.3f}  {:>4.1f} %  {:>10.4g}  {}\n", op.milliseconds / steps,
                        100 * op.milliseconds / steps / measured.milliseconds,
                        static_cast<double>(op.calls) / steps, op.name);
  }
  return text;
}

nlohmann::ordered_json ops_json(const Throughput& measured) {
  auto list = nlohmann::ordered_json::array();
  const auto steps = static_cast<double>(measured.steps);
  for (const auto& op : measured.ops)
    list.push_back({{"name", op.name},
                    {"calls_per_step", static_cast<double>(op.calls) / steps},
                    {"ms_per_step", op.milliseconds / steps}});
  return list;
}

/// What was measured, with all that a report of it names.
struct BenchResult {
  bool training;
  int64_t threads, image;  // image 0: the model takes none
  Precision precision;
  Throughput throughput;
  double examples, gflops, sgemm_gflops;  // a second
  std::optional<double> bf16_gflops;      // of a large product, where that is what is computed
  std::optional<int64_t> peak_bytes;
};

nlohmann::ordered_json json_of(const BenchOptions& o, const BenchResult& r) {
  nlohmann::ordered_json json = {{"bench", r.training ? "train" : "infer"},
                                 {"model", o.model},
                                 {"batch", o.batch},
                                 {"image", r.image},
                                 {"threads", r.threads},
                                 {"device", o.device},
                                 {"precision", precision_name(r.precision)},
                                 {"ms_per_step", r.throughput.milliseconds},
                                 {"steps", r.throughput.steps},
                                 {"examples_per_second", r.examples},
                                 {"gflops", r.gflops},
                                 {"sgemm_gflops", r.sgemm_gflops},
                                 {"fraction_of_sgemm", r.gflops / r.sgemm_gflops},
                                 {"bf16_product_gflops", r.bf16_gflops.value_or(0)},
                                 {"recompute", o.recompute},
                                 {"peak_bytes", r.peak_bytes.value_or(0)}};
  if (o.ops) json["ops"] = ops_json(r.throughput);
  return json;
}

std::string text_of(const BenchOptions& o, const BenchResult& r) {
  return fmt::format(
      "{} {}, batch {}{}, {} threads, {}, {}\n"
      "  {} per step (median of {})\n"
      "  {} {}/s\n"
      "  {:.1f} GFLOP/s, {:.0f} % of this machine's sgemm ({:.1f} GFLOP/s){}\n"
      "  {}\n"
      "{}",
      r.training ? "train" : "infer", o.model, o.batch,
      r.image > 0 ? fmt::format(", image {}", r.image) : "", r.threads, o.device,
      precision_name(r.precision), step_time_text(r.throughput.milliseconds), r.throughput.steps,
      three_digits(r.examples), r.image > 0 ? "images" : "examples", r.gflops,
      100 * r.gflops / r.sgemm_gflops, r.sgemm_gflops,
      r.bf16_gflops ? fmt::format(", {:.0f} % of its product in bf16 ({:.1f} GFLOP/s)",
                                  100 * r.gflops / *r.bf16_gflops, *r.bf16_gflops)
                    : "",
      r.peak_bytes
          ? fmt::format("{:.2f} GB of memory at most", 1e-9 * static_cast<double>(*r.peak_bytes))
          : "peak memory not known",
      o.ops ? ops_text(r.throughput) : "");
}

int run_bench(const BenchOptions& o, bool training, Streams s) {
  auto settings = o.overrides;
  if (o.image > 0) settings.insert(settings.begin(), "image=" + std::to_string(o.image));
  const bool stored = !models().has(o.model) && fs::exists(o.model);
  const auto choice =
      stored ? stored_model(o.model, settings) : read_model("name: " + o.model, settings, "bench");
  const auto threads = set_up_runtime(o.threads);
  const auto device = open_device(o.device);
  check_model_fits(choice, /*copies=*/1);
  const bool with_weights = stored && settings.empty() && !training;
  const auto model =
      with_weights ? load_checkpoint(o.model, FileMemory::Borrow).model : choice.build();
  check(!o.recompute || !model->blocks_in_order().empty(),
        "bench: {} has no blocks to recompute; leave out --recompute", o.model);
  model->recompute_blocks = o.recompute;
  model->to(device);
  const auto precision = training_precision(o.precision, o.device);
  if (!training) prepare_for_inference(*model, precision, o.model);
  say_precision(precision, s.err);
  const ThroughputOptions options{o.batch, o.seconds, o.device, precision, o.ops};
  const double peak = measure_product_peak(o.device, Precision::Float32);
  std::optional<double> bf16_peak;
  if (precision == Precision::BFloat16) bf16_peak = measure_product_peak(o.device, precision);
  const auto measured =
      training ? measure_training(*model, options) : measure_inference(*model, options);
  const double examples = 1e3 * static_cast<double>(o.batch) / measured.milliseconds;
  const auto shape = model->image_shape();
  const BenchResult result{.training = training,
                           .threads = threads,
                           .image = shape ? shape->image : 0,
                           .precision = precision,
                           .throughput = measured,
                           .examples = examples,
                           .gflops = 1e-9 * examples * (training ? kTrainFlops : kInferFlops) *
                                     static_cast<double>(summarize(choice).multiply_adds),
                           .sgemm_gflops = peak,
                           .bf16_gflops = bf16_peak,
                           .peak_bytes = process_peak_bytes()};
  s.out << (o.json ? json_line(json_of(o, result)) : text_of(o, result));
  return 0;
}

/// Declares `bench train` or `bench infer`; whichever was given runs.
CLI::App& add_kind(CLI::App& app, const char* name, const char* help,
                   const std::shared_ptr<BenchOptions>& o) {
  auto* sub = app.add_subcommand(name, help);
  sub->add_option("--model", o->model,
                  "a model of `vitrine models`, a run folder, a checkpoint or published "
                  "weights")
      ->type_name("MODEL|PATH")
      ->capture_default_str();
  sub->add_option("--batch", o->batch, "batch size")->capture_default_str()->check(at_least(1));
  sub->add_option("--image", o->image, "side of the input image; 0 = the model's own")
      ->capture_default_str()
      ->check(at_least(0));
  sub->add_option("--seconds", o->seconds, "how long to measure")
      ->capture_default_str()
      ->check(between(0, kLongest));
  add_device(*sub, o->device);
  add_threads(*sub, o->threads);
  sub->add_flag("--ops", o->ops, "also the operators that take most of the time");
  sub->add_flag("--json", o->json, "one JSON object");
  sub->add_option("overrides", o->overrides, "settings of the model, such as depth=6")
      ->type_name("KEY=VALUE");
  return *sub;
}

}  // namespace

Command bench_command() {
  return {"bench", "measure the speed of training or inference against the machine's limit",
          [](CLI::App& app) {
            auto o = std::make_shared<BenchOptions>();
            app.require_subcommand(1);
            auto& train = add_kind(app, "train", "forward, backward and AdamW on random data", o);
            train.add_flag("--recompute", o->recompute,
                           "gradient checkpointing: less memory, more time");
            take_one_of(train.add_option("--precision", o->precision,
                                         "how products with weights are computed; default: fp32"),
                        training_precision_names());
            add_precision(add_kind(app, "infer", "forward on random data", o), o->precision);
            return [o, &app](Streams s) { return run_bench(*o, app.got_subcommand("train"), s); };
          }};
}

}  // namespace vitrine::cli
