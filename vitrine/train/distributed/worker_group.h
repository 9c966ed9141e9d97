#pragma once

#include <torch/types.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace vitrine {

/// Where a process stands among those that train one model together.
struct WorkerPlace {
  int64_t rank = 0, size = 1;
  std::string address{};  // of rank 0
  int64_t port = 0;
  bool launcher_has_store = false;  // the launcher itself serves the store at that address
};

/// The place that a launcher gave this process by environment variables: `vitrine launch`, torchrun
/// and Kubernetes (RANK, WORLD_SIZE), Slurm (SLURM_PROCID, SLURM_NTASKS), Open MPI
/// (OMPI_COMM_WORLD_RANK, _SIZE) or MPICH (PMI_RANK, PMI_SIZE), with MASTER_ADDR and MASTER_PORT.
/// Nothing if the process is alone.
std::optional<WorkerPlace> place_from_environment();

/// A tensor that one rank has the right numbers of.
struct OwnedTensor {
  torch::Tensor tensor;
  int64_t owner;
};

/// Processes that train one model together. All hold the same weights; each computes a part of
/// every batch. A call that talks to the others must be made by all of them, in the same order.
class WorkerGroup {
 public:
  /// This process alone.
  WorkerGroup();
  /// The given group, or this process alone.
  static const WorkerGroup& or_alone(const WorkerGroup* group);
  /// Waits until all have come; throws if they do not within a minute.
  explicit WorkerGroup(const WorkerPlace& place);
  WorkerGroup(const WorkerGroup&) = delete;
  WorkerGroup& operator=(const WorkerGroup&) = delete;
  ~WorkerGroup();

  int64_t rank() const { return place_.rank; }
  int64_t size() const { return place_.size; }
  /// Whether this is rank 0, which alone writes files and messages.
  bool leads() const { return place_.rank == 0; }

  /// The numbers of every rank, by rank; lists may differ in length.
  std::vector<std::vector<double>> gather(const std::vector<double>& mine) const;
  /// Whether it holds on any rank.
  bool any(bool mine) const;
  /// Waits until all ranks have come here.
  void barrier() const;
  /// The text of rank 0.
  std::string from_leader(const std::string& text) const;
  /// The same for tensors of equal shapes on all ranks.
  void take_from_leader(const std::vector<torch::Tensor>& tensors) const;
  /// Gives all ranks the numbers that the owner of each tensor has.
  void take_from_owners(const std::vector<OwnedTensor>& tensors) const;
  /// Replaces a float tensor (n), contiguous, by its sum over the ranks, added in the order of
  /// ranks: the same bits on all of them, and those of one process that adds the same parts.
  void sum_in_order(torch::Tensor& values) const;

 private:
  struct Connection;

  WorkerPlace place_;
  std::unique_ptr<Connection> connection_;  // none if alone
};

}  // namespace vitrine
