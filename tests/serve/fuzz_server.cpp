// fuzz_server [N [SEED]]: sends N malformed and random requests to a whole server in this process,
// each on a connection of its own whose half the client closes behind it, so that nothing waits for
// bytes that never come. Prints what became of each kind; exit code 1 if a promise is broken.
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <fstream>
#include <iostream>
#include <thread>

#include "tests/serve/fuzz_requests.h"
#include "tests/serve/fuzz_target.h"
#include "tests/support/raw_connection.h"
#include "vitrine/ops/runtime.h"

namespace vitrine::test {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kClients = 16, kTenths = 10;
constexpr time_t kPatience = 60;  // seconds without a byte: the server hangs
constexpr int64_t kMegabyte = 1 << 20, kGrowth = 64 * kMegabyte;

int64_t resident_bytes() {
  int64_t pages = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> pages >> resident;
  return resident * ::sysconf(_SC_PAGESIZE);
}

/// What a client saw: a status, "closed" without an answer, or what must not be.
std::string outcome_of(const FuzzRequest& request, int port, bool& broken) {
  RawConnection connection(port);
  const timeval patience{.tv_sec = kPatience, .tv_usec = 0};
  ::setsockopt(connection.socket(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  const auto begin = Clock::now();
  connection.send(request.bytes);
  ::shutdown(connection.socket(), SHUT_WR);
  const auto answer = connection.rest();
  broken = true;
  if (Clock::now() - begin > std::chrono::seconds(kPatience)) return "hangs";
  if (answer.find("HTTP/1.1 500") != answer.npos) return "500";
  if (!answer.empty() && !answer.starts_with("HTTP/1.1 ")) return "no HTTP";
  broken = false;
  return answer.empty() ? "closed" : answer.substr(9, 3);
}

/// Kinds of requests and what became of them.
using Table = std::map<std::string, std::map<std::string, int64_t>>;

class Run {
 public:
  Run(uint64_t seed, int port) : seed_(seed), port_(port) {}

  /// Sends the requests up to this number.
  void send_until(uint64_t end) {
    std::vector<std::thread> clients;
    for (int i = 0; i < kClients; ++i) clients.emplace_back([this, end] { send_some(end); });
    for (auto& client : clients) client.join();
    next_ = end;
  }

  Table table;
  std::atomic<int64_t> broken = 0;

 private:
  void send_some(uint64_t end) {
    Table own;
    for (auto number = next_++; number < end; number = next_++) {
      const auto request = fuzz_request(seed_, number);
      bool is_broken = false;
      const auto outcome = outcome_of(request, port_, is_broken);
      ++own[request.kind][outcome];
      if (!is_broken) continue;
      ++broken;
      const std::lock_guard lock(mutex_);
      std::cout << fmt::format("request {} of seed {} ({}): {}\n", number, seed_, request.kind,
                               outcome);
    }
    const std::lock_guard lock(mutex_);
    for (const auto& [kind, outcomes] : own)
      for (const auto& [outcome, count] : outcomes) table[kind][outcome] += count;
  }

  const uint64_t seed_;
  const int port_;
  std::atomic<uint64_t> next_ = 0;
  std::mutex mutex_;
};

int fuzz(uint64_t requests, uint64_t seed) {
  set_up_runtime(/*threads=*/1);
  const FuzzTarget target({.connections = 256});
  const auto before = target.classify();
  Run run(seed, target.port());
  std::array<int64_t, kTenths> memory{};
  const auto begin = Clock::now();
  for (uint64_t tenth = 0; tenth < kTenths; ++tenth) {
    run.send_until(requests * (tenth + 1) / kTenths);
    memory[tenth] = resident_bytes();
    const auto seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    const auto done = static_cast<double>(requests * (tenth + 1)) / kTenths;
    std::cout << fmt::format("{:.0f} requests, {:.0f} per second, {} MB resident\n", done,
                             done / seconds, memory[tenth] / kMegabyte)
              << std::flush;
  }
  for (const auto& [kind, outcomes] : run.table) {
    std::string line;
    for (const auto& [name, count] : outcomes) line += fmt::format("  {} x {}", count, name);
    std::cout << fmt::format("{:<16}{}\n", kind, line);
  }
  const auto growth = memory.back() - memory.front();
  bool all = true;
  const auto report = [&](bool held, const std::string& what) {
    std::cout << fmt::format("{:<9}{}\n", held ? "held" : "NOT HELD", what);
    all = all && held;
  };
  report(run.broken == 0, fmt::format("{} requests answered or closed, none with 500", requests));
  report(!before.is_null() && target.classify() == before, "the same answer as before");
  report(growth <= kGrowth, fmt::format("memory: {:+} MB since the first tenth (at most {})",
                                        growth / kMegabyte, kGrowth / kMegabyte));
  return all ? 0 : 1;
}

}  // namespace
}  // namespace vitrine::test

int main(int argc, char** argv) {
  const auto number = [&](int at, uint64_t otherwise) {
    return argc > at ? std::strtoull(argv[at], nullptr, 10) : otherwise;
  };
  return vitrine::test::fuzz(number(1, 100'000), number(2, 1));
}
