// scaling_model FIGURE.png: what data-parallel training keeps of its speed on many hosts, as a
// table and a figure. A model with constants that docs/scaling.md has measured; see there for what
// it assumes.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "vitrine/plot/figure.h"

namespace {

using namespace vitrine;

constexpr double kBucketBytes = 4.0 * (1 << 20);  // of GradientExchange
constexpr double kBackwardShare = 2.0 / 3;        // of a step: two products for each of the forward
constexpr double kMessageSeconds = 50e-6;         // one TCP message between two hosts; assumed
constexpr int64_t kImages = 64;                   // per host and step
const std::vector<int64_t> kHosts = {8, 16, 32, 64, 128, 256, 512, 1024};
const std::vector<double> kGigabits = {1, 10, 100};

/// A network and its measured speed: one of two ranks, each with one core.
struct Network {
  std::string name;
  double parameters, images_per_second;
};

const std::vector<Network> kNetworks = {{"vit_c10_small", 4'028'170, 93.0 / 2},
                                        {"cct_2_3x2", 283'723, 733.0 / 2}};

struct Host {
  std::string name;
  double cores;  // as fast together as all of them alone
};

const std::vector<Host> kKinds = {{"one core per host", 1}, {"64 cores per host", 64}};

/// The share of its speed that a host keeps among `hosts`: buckets are complete one after another
/// during the backward pass, and are summed one after another (`WorkerGroup::sum_in_order`).
double efficiency(const Network& network, double cores, int64_t hosts, double gigabits) {
  const auto N = static_cast<double>(hosts);
  const double step = kImages / (network.images_per_second * cores);
  const double bytes = 4 * network.parameters;
  const auto buckets = std::max<int64_t>(1, static_cast<int64_t>(bytes / kBucketBytes + 0.5));
  // An all-to-all in one round and an all-gather around a ring, each with (N - 1) / N of the bytes.
  const double transfer =
      2 * bytes / static_cast<double>(buckets) * (N - 1) / N * 8 / (gigabits * 1e9);
  const double sum = transfer + N * kMessageSeconds;
  double end = 0;
  for (int64_t k = 1; k <= buckets; ++k) {
    const double complete = step * (1 - kBackwardShare * static_cast<double>(buckets - k) /
                                            static_cast<double>(buckets));
    end = std::max(end, complete) + sum;
  }
  return step / end;
}

plot::Chart chart_of(const Network& network, const Host& host) {
  plot::Chart chart{.title = network.name + ", " + host.name,
                    .x = {.label = "hosts"},
                    .y = {.label = "efficiency %", .low = 0, .high = 100},
                    .width = 460,
                    .height = 260};
  for (const auto hosts : kHosts) chart.x.names.push_back(std::to_string(hosts));
  for (const auto gigabits : kGigabits) {
    plot::Series line{.name = fmt::format("{} Gbit/s", gigabits), .markers = true};
    for (const auto hosts : kHosts)
      line.y.push_back(100 * efficiency(network, host.cores, hosts, gigabits));
    chart.series.push_back(line);
  }
  return chart;
}

/// Rows of Markdown, in percent.
void print_table() {
  fmt::print("| network | host | Gbit/s |");
  for (const auto hosts : kHosts) fmt::print(" {} hosts |", hosts);
  fmt::print("\n|---|---|---|");
  for (size_t i = 0; i < kHosts.size(); ++i) fmt::print("---|");
  fmt::print("\n");
  for (const auto& network : kNetworks)
    for (const auto& host : kKinds)
      for (const auto gigabits : kGigabits) {
        fmt::print("| `{}` | {} | {} |", network.name, host.name, gigabits);
        for (const auto hosts : kHosts)
          fmt::print(" {:.0f} |", 100 * efficiency(network, host.cores, hosts, gigabits));
        fmt::print("\n");
      }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: scaling_model FIGURE.png\n");
    return 2;
  }
  try {
    plot::Figure figure{.title = "Data parallel on many hosts: efficiency predicted by the model",
                        .columns = static_cast<int64_t>(kKinds.size())};
    for (const auto& network : kNetworks)
      for (const auto& host : kKinds) figure.panels.emplace_back(chart_of(network, host));
    figure.note = fmt::format("{} images per host and step; {:.0f} µs per message (assumed)",
                              kImages, kMessageSeconds * 1e6);
    figure.save(argv[1]);
    print_table();
  } catch (const std::exception& e) {
    fmt::print(stderr, "error: {}\n", e.what());
    return 1;
  }
  return 0;
}
