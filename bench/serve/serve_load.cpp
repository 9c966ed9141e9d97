// serve_load: `vitrine serve` under load from a second process, against `vitrine bench infer` of
// the same batch. First at saturation, alternating with the benchmark; then at twice saturation,
// where answers, refusals, memory and latency are checked. Each promise is printed as held or not.
#include <signal.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <nlohmann/json.hpp>
#include <thread>

#include "bench/serve/checkpoint.h"
#include "bench/serve/load.h"
#include "tests/support/temporary_folder.h"
#include "vitrine/core/child_process.h"
#include "vitrine/core/error.h"
#include "vitrine/core/median.h"

namespace vitrine::bench {
namespace {

constexpr double kMegabyte = 1 << 20;
// What is promised.
constexpr double kRatio = 0.9, kRefusalTime = 50, kBatches = 3, kGrowth = 16 * kMegabyte;

struct Options {
  std::string program = "build/vitrine", model = "vit_ti16", weights, photos;
  int64_t batch = 8, threads = 2;
  int rounds = 5;
  double seconds = 10, overload = 60;
};

/// A process of the program and what it says.
class Program {
 public:
  Program(std::vector<std::string> command, fs::path log)
      : log_(std::move(log)), process_(command, {.log = log_}) {}

  std::string said() const { return read_file(log_); }
  bool ended() { return process_.ended(); }
  void wait() {
    while (!ended()) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  void stop() {
    process_.signal(SIGTERM);
    wait();
  }

 private:
  const fs::path log_;
  ChildProcess process_;
};

std::string threads_of(const Options& o) { return std::to_string(o.threads); }

/// Milliseconds of a batch, by the benchmark.
double batch_time(const Options& o, const fs::path& weights, const fs::path& log) {
  Program bench(
      {o.program, "bench", "infer", "--model", weights, "--batch", std::to_string(o.batch),
       "--threads", threads_of(o), "--seconds", fmt::format("{}", o.seconds), "--json"},
      log);
  bench.wait();
  const auto said = bench.said();
  const auto line = said.rfind("{\"bench\"");
  check(line != said.npos, "{}", said);
  return nlohmann::json::parse(said.substr(line)).at("ms_per_step");
}

int port_of(Program& server) {
  for (;;) {
    const auto said = server.said();
    const std::string before = "http://127.0.0.1:";
    const auto at = said.find(before);
    if (at != said.npos && said.find('/', at + before.size()) != said.npos)
      return std::stoi(said.substr(at + before.size()));
    check(!server.ended(), "{}", said);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

bool report(bool held, const std::string& what) {
  std::cout << fmt::format("  {:<9}{}\n", held ? "held" : "NOT HELD", what) << std::flush;
  return held;
}

/// Rounds of one workload at saturation.
struct Saturation {
  std::vector<double> ratios{}, corrected{}, throughputs{};

  std::string text(const std::string& name) const {
    return fmt::format(
        "{} at saturation: {:.3f} of the benchmark, {:.3f} of what it would do on the cores that "
        "the client leaves",
        name, median(ratios), median(corrected));
  }
};

void measure(const Workload& workload, int port, const Options& o, double bench, Saturation& to) {
  const auto load = run_load(workload, port,
                             {.connections = static_cast<int>(2 * o.batch), .seconds = o.seconds});
  const auto cores = static_cast<double>(o.threads);
  to.throughputs.push_back(load.throughput);
  to.ratios.push_back(load.throughput / bench);
  to.corrected.push_back(load.throughput / (bench * (1 - load.client_cores / cores)));
  std::cout << fmt::format(
                   "  {:<12}{:7.1f}/s  {:.3f} of the benchmark  p50 {:.0f} ms  p99 {:.0f} ms  "
                   "refused {}  cores: server {:.2f}, client {:.2f}\n",
                   workload.name(), load.throughput, to.ratios.back(), quantile(load.accepted, 0.5),
                   quantile(load.accepted, 0.99), load.refused, load.server_cores,
                   load.client_cores)
            << std::flush;
  check(load.wrong == 0 && load.lost == 0 && load.other == 0, "{} wrong, {} lost, {} other answers",
        load.wrong, load.lost, load.other);
}

/// Twice as many requests as the server can answer, for a minute.
bool overload(const Workload& workload, int port, const Options& o, double throughput,
              double batch_ms) {
  const LoadPlan plan{.connections = static_cast<int>(8 * o.batch), .rate = 2 * throughput};
  auto warm = plan, whole = plan;
  warm.seconds = o.overload;
  whole.seconds = o.overload;
  run_load(workload, port, warm);  // so that memory has its size
  const auto load = run_load(workload, port, whole);
  const auto sent = load.right + load.wrong;
  const auto &before = load.before, &after = load.after;
  const auto slowest = quantile(load.refusals, 1), p99 = quantile(load.accepted, 0.99);
  const auto growth = after.resident_bytes - before.resident_bytes;
  std::cout << fmt::format(
      "{} at twice saturation, {:.1f}/s for {:.0f} s: {} sent, {} answered, {} refused; p50 {:.0f} "
      "ms, p99 {:.0f} ms; refusals: p50 {:.1f} ms, p99 {:.1f} ms; cores: server {:.2f}, client "
      "{:.2f}\n",
      workload.name(), plan.rate, o.overload, load.sent, load.right, load.refused,
      quantile(load.accepted, 0.5), p99, quantile(load.refusals, 0.5),
      quantile(load.refusals, 0.99), load.server_cores, load.client_cores);
  bool all = report(load.wrong == 0, fmt::format("{} wrong answers of {}", load.wrong, sent));
  all &= report(load.lost == 0 && load.unasked == 0 && after.answered - before.answered == sent &&
                    after.refused - before.refused == load.refused &&
                    after.computed - before.computed == sent,
                fmt::format("{} lost and {} double answers; the server counts {} answered, {} "
                            "refused, {} computed",
                            load.lost, load.unasked, after.answered - before.answered,
                            after.refused - before.refused, after.computed - before.computed));
  all &= report(load.other == 0 && slowest <= kRefusalTime,
                fmt::format("every refusal a 503 (others: {}) within {:.1f} ms (at most {})",
                            load.other, slowest, kRefusalTime));
  all &= report(growth <= kGrowth,
                fmt::format("memory {:.0f} MB before, {:.0f} MB after (at most {:.0f} more)",
                            before.resident_bytes / kMegabyte, after.resident_bytes / kMegabyte,
                            kGrowth / kMegabyte));
  all &= report(p99 < kBatches * batch_ms,
                fmt::format("p99 of the accepted {:.0f} ms, {:.2f} batch times (below {})", p99,
                            p99 / batch_ms, kBatches));
  return all;
}

int run(const Options& o) {
  const test::TemporaryFolder folder;
  fs::path weights = o.weights;
  if (weights.empty()) save_random_checkpoint(weights = folder / "model.safetensors", o.model);
  Program server(
      {o.program, "serve", fmt::format("{}={}", kModel, weights.string()), "--port", "0", "--quiet",
       "--max-batch", std::to_string(o.batch), "--threads", threads_of(o), "--runs", folder.path()},
      folder / "server.log");
  const auto port = port_of(server);
  std::vector<std::unique_ptr<Workload>> workloads;
  workloads.push_back(tensor_workload(port));
  if (!o.photos.empty()) workloads.push_back(photo_workload(port, o.photos));
  std::vector<Saturation> saturated(workloads.size());
  std::vector<double> batch_times;
  for (int round = 0; round < o.rounds; ++round) {
    batch_times.push_back(batch_time(o, weights, folder / fmt::format("bench-{}.log", round)));
    const auto bench = 1000 * static_cast<double>(o.batch) / batch_times.back();
    std::cout << fmt::format("round {}: `bench infer` {:.1f}/s, batch {:.1f} ms\n", round + 1,
                             bench, batch_times.back());
    for (size_t i = 0; i < workloads.size(); ++i)
      measure(*workloads[i], port, o, bench, saturated[i]);
  }
  bool all =
      report(median(saturated[0].corrected) >= kRatio,
             fmt::format("{} (at least {})", saturated[0].text(workloads[0]->name()), kRatio));
  for (size_t i = 1; i < workloads.size(); ++i)  // the benchmark decodes nothing
    std::cout << fmt::format("  {}\n", saturated[i].text(workloads[i]->name()));
  if (o.overload > 0)
    for (size_t i = 0; i < workloads.size(); ++i)
      all &=
          overload(*workloads[i], port, o, median(saturated[i].throughputs), median(batch_times));
  server.stop();
  return all ? 0 : 1;
}

}  // namespace
}  // namespace vitrine::bench

int main(int argc, char** argv) {
  vitrine::bench::Options o;
  CLI::App app("vitrine serve under load, against vitrine bench infer");
  app.option_defaults()->always_capture_default();
  app.add_option("--program", o.program, "the program vitrine");
  app.add_option("--model", o.model, "a registered image classifier, with random weights");
  app.add_option("--weights", o.weights, "a checkpoint or published weights instead");
  app.add_option("--photos", o.photos, "a folder of image files, to measure /v1/classify as well");
  app.add_option("--batch", o.batch, "images in a batch");
  app.add_option("--threads", o.threads, "threads of the network");
  app.add_option("--rounds", o.rounds, "rounds at saturation")->check(CLI::PositiveNumber);
  app.add_option("--seconds", o.seconds, "seconds of each measurement of a round");
  app.add_option("--overload", o.overload, "seconds at twice saturation; 0: none");
  CLI11_PARSE(app, argc, argv);
  try {
    return vitrine::bench::run(o);
  } catch (const std::exception& e) {
    std::cerr << "error: " << e.what() << '\n';
    return 2;
  }
}
