#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "vitrine/data/batch.h"

namespace vitrine {

struct LoaderOptions {
  int64_t batch = 128;
  bool shuffle = false;  // a new order each epoch, decided by (seed, epoch)
  uint64_t seed = 0;
  int64_t epoch = -1;                         // -1: no augmentation
  int64_t first_step = 0;                     // skip this many batches (a resume in mid-epoch)
  int64_t workers = 1;                        // threads that prepare batches ahead
  int64_t ahead = 4;                          // batches kept ready
  std::function<bool(int64_t step)> takes{};  // whether it gives this batch; all if empty
};

/// One pass over a source, in order, prepared ahead by worker threads. The batches do not depend
/// on the number of workers.
class Loader {
 public:
  Loader(const BatchSource& source, const LoaderOptions& options);
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;
  ~Loader();

  /// The next batch, or nothing at the end; rethrows what a worker threw.
  std::optional<Batch> next();
  /// The examples of the whole pass, in the order in which they come.
  const std::vector<int64_t>& order() const;
  /// Time that `next` spent waiting for the workers.
  double seconds_waited() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace vitrine
