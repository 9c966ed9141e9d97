#include "vitrine/train/distributed/worker_group.h"

#include <signal.h>
#include <torch/torch.h>

// Debian's LibTorch has Gloo; its header asks for this word.
#define USE_C10D_GLOO
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>

#include "vitrine/core/error.h"
#include "vitrine/ops/torch_compat.h"
#include "vitrine/train/distributed/local_address.h"
#include "vitrine/train/distributed/rank_monitor.h"

namespace vitrine {
namespace {

using std::chrono::seconds;

constexpr int64_t kDefaultPort = 29500;  // torchrun's
constexpr auto kMeetingTime = seconds(60);
// Rank 0 alone tests and writes, which may take long while the others wait; one that dies is
// noticed at once.
constexpr auto kCallTime = std::chrono::hours(24);
constexpr auto kBetweenLooks = std::chrono::milliseconds(500);
constexpr auto kEarlierSilence = seconds(10);
constexpr int64_t kShortList = 64;  // numbers that are gathered in one call, their count included

std::string variable(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? "" : text;
}

int64_t integer_variable(const char* name) {
  const auto text = variable(name);
  int64_t value = 0;
  const auto* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  check(error == std::errc() && rest == end, "launch: {} is '{}', expected a whole number", name,
        text);
  return value;
}

/// How launchers name rank and size.
constexpr std::pair<const char*, const char*> kLaunchers[] = {
    {"RANK", "WORLD_SIZE"},
    {"SLURM_PROCID", "SLURM_NTASKS"},
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
    {"PMI_RANK", "PMI_SIZE"}};

using StorePointer = c10::intrusive_ptr<c10d::Store>;

/// Apart from the keys of a launcher, and from those of an attempt that it made before.
StorePointer ours(StorePointer store) {
  return c10::make_intrusive<c10d::PrefixStore>("vitrine" + variable("TORCHELASTIC_RESTART_COUNT"),
                                                std::move(store));
}

/// Where this rank listens to the others: on the network that leads to rank 0.
std::shared_ptr<gloo::transport::Device> device_for(const WorkerPlace& place) {
  using Gloo = c10d::ProcessGroupGloo;
  if (const auto name = variable("GLOO_SOCKET_IFNAME"); !name.empty())
    return Gloo::createDeviceForInterface(name);
  return Gloo::createDeviceForHostname(local_address_towards(place.address));
}

}  // namespace

std::optional<WorkerPlace> place_from_environment() {
  // Slurm and MPI also set their variables where a single program is started.
  if (variable("MASTER_ADDR").empty()) return std::nullopt;
  for (const auto& [rank, size] : kLaunchers) {
    if (variable(rank).empty() || variable(size).empty()) continue;
    WorkerPlace place{
        .rank = integer_variable(rank),
        .size = integer_variable(size),
        .address = variable("MASTER_ADDR"),
        .port = variable("MASTER_PORT").empty() ? kDefaultPort : integer_variable("MASTER_PORT"),
        .launcher_has_store = variable("TORCHELASTIC_USE_AGENT_STORE") == "True"};
    check(place.size >= 1 && place.rank >= 0 && place.rank < place.size,
          "launch: {} {} does not fit {} {}; ranks are 0 to {} - 1", rank, place.rank, size,
          place.size, size);
    check(place.port >= 1 && place.port <= 65535, "launch: MASTER_PORT {} is no port (1 to 65535)",
          place.port);
    return place.size > 1 ? std::optional(place) : std::nullopt;
  }
  return std::nullopt;
}

struct WorkerGroup::Connection {
  explicit Connection(const WorkerPlace& place) : rank(place.rank), size(place.size) {
    guarded([&] {
      // Who writes to a rank that has just died shall get an error that says so, not a signal.
      ::signal(SIGPIPE, SIG_IGN);
      c10d::TCPStoreOptions options;
      options.port = static_cast<uint16_t>(place.port);
      options.isServer = rank == 0 && !place.launcher_has_store;
      options.numWorkers = static_cast<size_t>(size);
      options.timeout = kMeetingTime;
      use_plain_sockets(options);
      const auto store = ours(c10::make_intrusive<c10d::TCPStore>(place.address, options));
      const auto gloo = c10d::ProcessGroupGloo::Options::create(kMeetingTime);
      gloo->devices.push_back(device_for(place));
      gloo->timeout = kCallTime;
      group = c10::make_intrusive<c10d::ProcessGroupGloo>(store, static_cast<int>(rank),
                                                          static_cast<int>(size), gloo);
      // A connection of its own: one that waits for an answer must not keep the others waiting.
      options.isServer = options.waitWorkers = false;
      monitor = std::make_unique<RankMonitor>(
          ours(c10::make_intrusive<c10d::TCPStore>(place.address, options)), rank, size);
    });
  }

  ~Connection() {
    if (monitor->trouble(kEarlierSilence).empty()) return;
    group.release();  // both would wait for answers that never come
    (void)monitor.release();
  }

  /// Waits for a call, as long as all ranks are alive.
  void wait_for(const c10::intrusive_ptr<c10d::Work>& work) const {
    while (!work->isCompleted()) {
      try {
        work->wait(kBetweenLooks);
      } catch (const std::exception&) {
        if (work->isCompleted()) throw;
        const auto trouble = monitor->trouble();
        check(trouble.empty(), "rank {} of {} gives up: {}; look there, then resume the run", rank,
              size, trouble);
      }
    }
    work->wait();
  }

  /// What goes wrong between processes, as an error for people.
  template <typename Call>
  void guarded(const Call& call) const {
    try {
      call();
    } catch (const Error&) {
      throw;
    } catch (const std::exception& e) {
      const std::string text = e.what();
      // The others may have noticed a silent rank earlier than we, and left.
      const auto silent = monitor ? monitor->trouble(kEarlierSilence) : "";
      fail("rank {} of {} lost the others ({}); {}", rank, size, text.substr(0, text.find('\n')),
           silent.empty() ? "the rank that stopped first says why" : silent);
    }
  }

  std::vector<torch::Tensor> gather(torch::Tensor mine) const {
    std::vector<std::vector<torch::Tensor>> all(1);
    for (int64_t r = 0; r < size; ++r) all[0].push_back(torch::empty_like(mine));
    guarded([&] {
      std::vector<torch::Tensor> input{mine};
      wait_for(group->allgather(all, input));
    });
    return all[0];
  }

  torch::Tensor broadcast(torch::Tensor tensor) const {
    std::vector<torch::Tensor> one{std::move(tensor)};
    guarded([&] { wait_for(group->broadcast(one)); });
    return one[0];
  }

  const int64_t rank, size;
  std::unique_ptr<RankMonitor> monitor;
  c10::intrusive_ptr<c10d::ProcessGroupGloo> group;
};

WorkerGroup::WorkerGroup() = default;

const WorkerGroup& WorkerGroup::or_alone(const WorkerGroup* group) {
  static const WorkerGroup alone;
  return group == nullptr ? alone : *group;
}

WorkerGroup::WorkerGroup(const WorkerPlace& place)
    : place_(place), connection_(std::make_unique<Connection>(place)) {}

WorkerGroup::~WorkerGroup() = default;

std::vector<std::vector<double>> WorkerGroup::gather(const std::vector<double>& mine) const {
  if (!connection_) return {mine};
  const auto count = std::ssize(mine);
  auto first = torch::zeros({kShortList}, torch::kDouble);
  first[0] = static_cast<double>(count);
  std::copy_n(mine.begin(), std::min(count, kShortList - 1), first.data_ptr<double>() + 1);
  const auto firsts = connection_->gather(first);
  int64_t longest = 0;
  for (const auto& each : firsts)
    longest = std::max(longest, static_cast<int64_t>(each.data_ptr<double>()[0]));
  std::vector<torch::Tensor> wholes;
  if (longest >= kShortList) {
    auto whole = torch::zeros({longest}, torch::kDouble);
    std::copy(mine.begin(), mine.end(), whole.data_ptr<double>());
    wholes = connection_->gather(whole);
  }
  std::vector<std::vector<double>> all;
  for (size_t r = 0; r < firsts.size(); ++r) {
    const auto* numbers = firsts[r].data_ptr<double>();
    const auto length = static_cast<int64_t>(numbers[0]);
    const auto* from = wholes.empty() ? numbers + 1 : wholes[r].data_ptr<double>();
    all.emplace_back(from, from + length);
  }
  return all;
}

bool WorkerGroup::any(bool mine) const {
  const auto all = gather({mine ? 1.0 : 0.0});
  return std::ranges::any_of(all, [](const auto& each) { return each[0] != 0; });
}

void WorkerGroup::barrier() const {
  if (!connection_) return;
  connection_->guarded([&] { connection_->wait_for(connection_->group->barrier()); });
}

std::string WorkerGroup::from_leader(const std::string& text) const {
  if (!connection_) return text;
  const auto size =
      connection_->broadcast(torch::tensor({static_cast<int64_t>(text.size())})).item<int64_t>();
  if (size == 0) return "";
  auto bytes = torch::zeros({size}, torch::kUInt8);
  if (leads()) std::memcpy(bytes.data_ptr<uint8_t>(), text.data(), text.size());
  bytes = connection_->broadcast(bytes);
  return {reinterpret_cast<const char*>(bytes.data_ptr<uint8_t>()), static_cast<size_t>(size)};
}

void WorkerGroup::take_from_leader(const std::vector<torch::Tensor>& tensors) const {
  std::vector<OwnedTensor> of_leader;
  for (const auto& tensor : tensors) of_leader.push_back({tensor, /*owner=*/0});
  take_from_owners(of_leader);
}

void WorkerGroup::take_from_owners(const std::vector<OwnedTensor>& tensors) const {
  if (!connection_) return;
  const torch::NoGradGuard no_grad;
  // All calls are under way before the first is waited for.
  std::vector<std::vector<torch::Tensor>> copies;
  std::vector<c10::intrusive_ptr<c10d::Work>> calls;
  for (const auto& [tensor, owner] : tensors) copies.push_back({tensor.cpu().contiguous()});
  connection_->guarded([&] {
    for (size_t i = 0; i < tensors.size(); ++i) {
      c10d::BroadcastOptions options;
      options.rootRank = static_cast<int>(tensors[i].owner);
      calls.push_back(connection_->group->broadcast(copies[i], options));
    }
    for (const auto& call : calls) connection_->wait_for(call);
  });
  for (size_t i = 0; i < tensors.size(); ++i)
    if (!copies[i][0].is_same(tensors[i].tensor)) tensors[i].tensor.copy_(copies[i][0]);
}

void WorkerGroup::sum_in_order(torch::Tensor& values) const {
  if (!connection_) return;
  const auto N = size();
  auto& group = *connection_->group;
  if (N == 2) {  // a + b is b + a
    std::vector<torch::Tensor> one{values};
    connection_->guarded([&] { connection_->wait_for(group.allreduce(one)); });
    return;
  }
  // Each rank sums a slice, in the order of ranks, and gives it to all.
  const auto n = values.numel(), slice = (n + N - 1) / N;
  const auto padded = torch::zeros({N, slice});
  padded.view(-1).narrow(0, 0, n).copy_(values);
  auto received = torch::empty({N, slice});  // (rank, slice)
  connection_->guarded([&] {
    std::vector<int64_t> equal;
    auto to = received.view(-1), from = padded.view(-1);
    connection_->wait_for(group.alltoall_base(to, from, equal, equal));
  });
  auto sum = received[0].clone();
  for (int64_t r = 1; r < N; ++r) sum += received[r];
  values.copy_(torch::cat(connection_->gather(sum)).narrow(0, 0, n));
}

}  // namespace vitrine
