#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <functional>
#include <memory>
#include <optional>
#include <thread>

#include "vitrine/cli/commands.h"
#include "vitrine/cli/options.h"
#include "vitrine/core/child_process.h"
#include "vitrine/core/error.h"
#include "vitrine/core/interrupt.h"
#include "vitrine/core/remote_shell.h"

namespace vitrine::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kCheck = std::chrono::milliseconds(20);
constexpr auto kGrace = std::chrono::seconds(5);  // for the others, once one has failed

/// Where the ranks of this host stand among all; `launch --hosts` tells it to the `launch` that it
/// starts on each host.
struct HostPlace {
  int64_t host = 0, hosts = 1;
  std::string address = "127.0.0.1";  // of the first host
  int64_t port = 0;                   // 0: one that is free here
  bool attached = false;              // see ChildOptions
};

struct LaunchOptions {
  int64_t ranks = 0;  // of each host; 0: 2 without hosts, otherwise 1
  std::string hosts{};
  std::string ssh = RemoteShell::kDefault;
  HostPlace place{};
  std::vector<std::string> command{};
};

/// A port of this machine that nobody listens on.
int64_t free_port() {
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

/// A rank of this host, or all those of another.
struct Part {
  std::string name;
  std::unique_ptr<ChildProcess> process;
  std::function<std::string(int)> remedy{};  // for an exit code; may have none
};

using Parts = std::vector<Part>;

/// The ranks of this host.
Parts start_ranks(const LaunchOptions& o, int64_t ranks) {
  std::vector<std::string> command = {this_program()};
  command.insert(command.end(), o.command.begin(), o.command.end());
  if (std::ranges::find(command, "--threads") == command.end()) {
    const auto cores = static_cast<int64_t>(std::thread::hardware_concurrency());
    command.insert(command.end(),
                   {"--threads", std::to_string(std::max<int64_t>(1, cores / ranks))});
  }
  const auto port = o.place.port > 0 ? o.place.port : free_port();
  Parts parts;
  for (int64_t local = 0; local < ranks; ++local) {
    const auto rank = o.place.host * ranks + local;
    const ChildOptions options{
        .environment = {{"RANK", std::to_string(rank)},
                        {"LOCAL_RANK", std::to_string(local)},
                        {"WORLD_SIZE", std::to_string(o.place.hosts * ranks)},
                        {"MASTER_ADDR", o.place.address},
                        {"MASTER_PORT", std::to_string(port)}}};
    parts.push_back(
        {fmt::format("rank {}", rank), std::make_unique<ChildProcess>(command, options)});
  }
  return parts;
}

/// A `launch` on every host, which starts the ranks there.
Parts start_hosts(const LaunchOptions& o, int64_t ranks) {
  const auto hosts = parse_hosts(o.hosts);
  const auto shell = std::make_shared<RemoteShell>(o.ssh);
  const auto port = std::to_string(free_port());  // most likely of the first host, too
  Parts parts;
  for (size_t i = 0; i < hosts.size(); ++i) {
    const auto& host = hosts[i];
    std::vector<std::string> command = {this_program(),
                                        "launch",
                                        "--attached",
                                        "--ranks",
                                        std::to_string(ranks),
                                        "--host-index",
                                        std::to_string(i),
                                        "--host-count",
                                        std::to_string(hosts.size()),
                                        "--master-addr",
                                        host_address(hosts[0]),
                                        "--master-port",
                                        port};
    command.insert(command.end(), o.command.begin(), o.command.end());
    parts.push_back(
        {"host " + host,
         std::make_unique<ChildProcess>(shell->on(host, command), ChildOptions{.attached = true}),
         [=](int code) { return shell->failure(host, command, code); }});
  }
  return parts;
}

enum class Said { Nothing, Stop, End };

/// What the launcher says that this one is attached to.
Said launcher_says() {
  pollfd input{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
  if (::poll(&input, 1, /*timeout=*/0) <= 0) return Said::Nothing;
  char byte = 0;
  return ::read(STDIN_FILENO, &byte, 1) > 0 ? Said::Stop : Said::End;
}

std::string end_text(const Part& part) {
  const auto code = part.process->exit_code();
  const auto remedy = code && part.remedy ? part.remedy(*code) : "";
  return fmt::format("launch: {} ended with {}{}{}\n", part.name, part.process->end_text(),
                     remedy.empty() ? "" : ": ", remedy);
}

/// Waits for all. One that fails takes the others with it: they would wait for it.
int wait_for(const Parts& parts, bool attached, std::ostream& err) {
  catch_interrupts();
  bool told = false;
  int code = 0;
  std::optional<Clock::time_point> failed;
  for (size_t running = parts.size(); running > 0; std::this_thread::sleep_for(kCheck)) {
    const auto said = attached ? launcher_says() : Said::Nothing;
    if (said == Said::End) {
      err << "launch: the launcher on the other host has gone; the ranks here are stopped\n";
      return 1;  // they end with `parts`
    }
    if ((interrupted() || said == Said::Stop) && !std::exchange(told, true))
      for (const auto& part : parts) part.process->interrupt();
    running = 0;
    for (const auto& part : parts) {
      if (!part.process->ended()) {
        ++running;
      } else if (part.process->exit_code() != 0 && code == 0) {
        code = part.process->exit_code() == 2 ? 2 : 1;
        if (told) continue;  // the others may still be saving
        failed = Clock::now();
        const bool said_why = parts.size() == 1 && part.process->exit_code() == code;
        if (!said_why) err << end_text(part) << std::flush;
      }
    }
    if (failed && Clock::now() - *failed > kGrace)
      for (const auto& part : parts) part.process->signal(SIGKILL);
  }
  return code;
}

int run_launch(const LaunchOptions& o, Streams s) {
  check_usage(!o.command.empty() && o.command[0] == "train",
              "launch: expected 'train' and its arguments behind the options{}",
              o.command.empty() ? "" : fmt::format(", not '{}'", o.command[0]));
  const auto or_default = [&](int64_t ranks) { return o.ranks > 0 ? o.ranks : ranks; };
  const auto parts =
      o.hosts.empty() ? start_ranks(o, or_default(2)) : start_hosts(o, or_default(1));
  return wait_for(parts, o.place.attached, s.err);
}

/// What `launch --hosts` says to the `launch` on each host; not for people.
void add_host_place(CLI::App& app, HostPlace& place) {
  constexpr auto kHidden = "";
  app.add_flag("--attached", place.attached)->group(kHidden);
  app.add_option("--host-index", place.host)->group(kHidden);
  app.add_option("--host-count", place.hosts)->group(kHidden);
  app.add_option("--master-addr", place.address)->group(kHidden);
  app.add_option("--master-port", place.port)->group(kHidden);
}

}  // namespace

Command launch_command() {
  return {
      "launch", "train with several processes at once (data parallel)", [](CLI::App& app) {
        auto o = std::make_shared<LaunchOptions>();
        constexpr double kMax = 1024;
        app.add_option("-n,--ranks", o->ranks,
                       "processes on each host; by default 2, with --hosts 1")
            ->check(between(1, kMax));
        add_hosts(app, o->hosts, o->ssh);
        add_host_place(app, o->place);
        app.prefix_command();
        app.footer(
            "Behind the options: train and its arguments, as in vitrine launch -n 2 train RECIPE.\n"
            "With --hosts, each host needs this program, the current folder and the run folder "
            "under the same\npaths (a shared file system), and the hosts must reach each other. "
            "Ctrl-C and a rank that fails\nstop the ranks on all hosts.");
        return [o, &app](Streams s) {
          o->command = app.remaining();
          return run_launch(*o, s);
        };
      }};
}

}  // namespace vitrine::cli
