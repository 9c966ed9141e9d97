#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <memory>
#include <thread>

#include "vitrine/cli/commands.h"
#include "vitrine/cli/options.h"
#include "vitrine/core/child_process.h"
#include "vitrine/core/error.h"
#include "vitrine/core/interrupt.h"

namespace vitrine::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kCheck = std::chrono::milliseconds(20);
constexpr auto kGrace = std::chrono::seconds(10);  // for the other ranks, once one has failed

struct LaunchOptions {
  int64_t ranks = 2;
  std::vector<std::string> command;
};

/// A port of this machine that nobody listens on.
int free_port() {
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  const bool bound = ::bind(socket, reinterpret_cast<sockaddr*>(&address), size) == 0 &&
                     ::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) == 0;
  ::close(socket);
  check(bound, "launch: this machine has no free port");
  return ntohs(address.sin_port);
}

using Ranks = std::vector<std::unique_ptr<ChildProcess>>;

Ranks start(const LaunchOptions& o) {
  std::vector<std::string> command = {this_program()};
  command.insert(command.end(), o.command.begin(), o.command.end());
  if (std::ranges::find(command, "--threads") == command.end()) {
    const auto cores = static_cast<int64_t>(std::thread::hardware_concurrency());
    command.insert(command.end(),
                   {"--threads", std::to_string(std::max<int64_t>(1, cores / o.ranks))});
  }
  const auto port = std::to_string(free_port());
  Ranks ranks;
  for (int64_t rank = 0; rank < o.ranks; ++rank)
    ranks.push_back(std::make_unique<ChildProcess>(
        command, ChildOptions{.environment = {{"RANK", std::to_string(rank)},
                                              {"LOCAL_RANK", std::to_string(rank)},
                                              {"WORLD_SIZE", std::to_string(o.ranks)},
                                              {"MASTER_ADDR", "127.0.0.1"},
                                              {"MASTER_PORT", port}}}));
  return ranks;
}

/// Waits for all ranks. One that fails takes the others with it: they would wait for it.
int wait_for(Ranks& ranks, std::ostream& err) {
  catch_interrupts();
  bool told = false;
  int code = 0;
  std::optional<Clock::time_point> failed;
  for (size_t running = ranks.size(); running > 0; std::this_thread::sleep_for(kCheck)) {
    if (interrupted() && !std::exchange(told, true))
      for (const auto& rank : ranks) rank->signal(SIGINT);
    running = 0;
    for (size_t r = 0; r < ranks.size(); ++r) {
      if (!ranks[r]->ended()) {
        ++running;
      } else if (ranks[r]->exit_code() != 0 && code == 0) {
        code = ranks[r]->exit_code().value_or(1);
        failed = Clock::now();
        if (!told) err << fmt::format("launch: rank {} ended with {}\n", r, ranks[r]->end_text());
      }
    }
    if (failed && Clock::now() - *failed > kGrace)
      for (const auto& rank : ranks) rank->signal(SIGKILL);
  }
  return code;
}

int run_launch(const LaunchOptions& o, Streams s) {
  check_usage(!o.command.empty() && o.command[0] == "train",
              "launch: expected 'train' and its arguments behind the options{}",
              o.command.empty() ? "" : fmt::format(", not '{}'", o.command[0]));
  auto ranks = start(o);
  return wait_for(ranks, s.err);
}

}  // namespace

Command launch_command() {
  return {
      "launch", "train with several processes at once (data parallel)", [](CLI::App& app) {
        auto o = std::make_shared<LaunchOptions>();
        constexpr double kMax = 1024;
        app.add_option("-n,--ranks", o->ranks, "processes on this machine")
            ->capture_default_str()
            ->check(between(1, kMax));
        app.prefix_command();
        app.footer(
            "Behind the options: train and its arguments, as in vitrine launch -n 2 train RECIPE.");
        return [o, &app](Streams s) {
          o->command = app.remaining();
          return run_launch(*o, s);
        };
      }};
}

}  // namespace vitrine::cli
