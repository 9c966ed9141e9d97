#pragma once

#include <atomic>

#include "vitrine/serve/engine/model_store.h"
#include "vitrine/serve/engine/served_generator.h"

namespace vitrine::serve {

/// Sequences that are sampled on their model's thread, in turns with what else waits there, and
/// what has come of it so far. The sampling ends with this object, at the next token.
class SampleStream {
 public:
  /// Told how many tokens of all sequences each turn has sampled, on the model's thread.
  using Observe = std::function<void(int64_t tokens)>;

  /// Returns when the sampling has begun. Throws `QueueFull`, `DeadlinePassed`, or an `HttpError`
  /// for what the model cannot do.
  SampleStream(Active<ServedGenerator> active, GenerateOptions options, Deadline deadline,
               Observe observe);
  SampleStream(const SampleStream&) = delete;
  SampleStream& operator=(const SampleStream&) = delete;
  ~SampleStream();

  /// The next tokens, first those that were given; nothing if there are none after `wait`. Throws
  /// what the sampling threw.
  std::optional<SampledTokens> next(Clock::duration wait);
  /// Whether there will be no more tokens.
  bool ended() const;

  int64_t kept() const;     // tokens of each sequence that were given
  int64_t sampled() const;  // tokens of all sequences that were not
  double seconds() const;   // from the first step to the last

 private:
  struct Shared;
  const Active<ServedGenerator> active_;
  const std::shared_ptr<Shared> shared_;
};

}  // namespace vitrine::serve
