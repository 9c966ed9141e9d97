#include "vitrine/serve/engine/sample_stream.h"

#include <utility>

namespace vitrine::serve {
namespace {

// As often as this others get a turn and clients get tokens.
constexpr auto kTurn = std::chrono::milliseconds(20);

}  // namespace

struct SampleStream::Shared {
  Shared(const ServedGenerator& m, GenerateOptions o, Deadline d, Observe f)
      : model(m), options(std::move(o)), deadline(d), observe(std::move(f)) {}

  // Of the model's thread alone.
  const ServedGenerator& model;
  const GenerateOptions options;
  const Deadline deadline;
  const Observe observe;
  std::unique_ptr<SampledSequences> sequences;
  Clock::time_point begin{};

  std::atomic<bool> cancelled = false;
  mutable std::mutex mutex;
  std::condition_variable changed;
  // Of both threads, under the mutex.
  bool begun = false, ended = false;
  std::deque<SampledTokens> pieces;
  std::exception_ptr error;
  int64_t kept = 0, sampled = 0;
  double seconds = 0;

  /// Begins, or samples for as long as a turn lasts; whether there is more to do.
  bool turn() {
    try {
      if (cancelled) return end();
      if (Clock::now() >= deadline) throw DeadlinePassed("the deadline passed during the sampling");
      return sequences ? sample() : start();
    } catch (...) {
      return end(std::current_exception());
    }
  }
  bool start() {
    sequences = as_bad_request([&] { return model.sample(options); });
    begin = Clock::now();
    auto given = sequences->take();
    const std::lock_guard lock(mutex);
    begun = true;
    kept = sequences->kept();
    if (!given.empty()) pieces.push_back(std::move(given));
    changed.notify_all();
    return true;
  }
  bool sample() {
    const auto until = std::min(Clock::now() + Clock::duration(kTurn), deadline);
    const auto before = sequences->sampled();
    bool more = true;
    do {
      more = sequences->step();
    } while (more && !cancelled && Clock::now() < until);
    observe(sequences->sampled() - before);
    auto tokens = sequences->take();
    const std::lock_guard lock(mutex);
    sampled = sequences->sampled();
    seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    if (!tokens.empty()) pieces.push_back(std::move(tokens));
    ended = !more;
    if (!more) sequences.reset();
    changed.notify_all();
    return more;
  }
  bool end(std::exception_ptr why = nullptr) {
    sequences.reset();
    const std::lock_guard lock(mutex);
    ended = true;
    error = std::move(why);
    changed.notify_all();
    return false;
  }
};

SampleStream::SampleStream(Active<ServedGenerator> active, GenerateOptions options,
                           Deadline deadline, Observe observe)
    : active_(std::move(active)),
      shared_(std::make_shared<Shared>(active_.model(), std::move(options), deadline,
                                       std::move(observe))) {
  active_.queue().take_turns([shared = shared_] { return shared->turn(); });
  std::unique_lock lock(shared_->mutex);
  const auto settled = [&] { return shared_->begun || shared_->ended; };
  if (deadline == kNoDeadline) {
    shared_->changed.wait(lock, settled);
  } else if (!shared_->changed.wait_until(lock, deadline, settled)) {
    shared_->cancelled = true;  // no destructor runs
    throw DeadlinePassed("the deadline passed before the sampling began");
  }
  if (shared_->error) std::rethrow_exception(shared_->error);
}

SampleStream::~SampleStream() { shared_->cancelled = true; }

std::optional<SampledTokens> SampleStream::next(Clock::duration wait) {
  auto& s = *shared_;
  std::unique_lock lock(s.mutex);
  s.changed.wait_for(lock, wait, [&] { return s.ended || !s.pieces.empty(); });
  if (!s.pieces.empty()) {
    auto tokens = std::move(s.pieces.front());
    s.pieces.pop_front();
    return tokens;
  }
  if (s.error) std::rethrow_exception(s.error);
  return std::nullopt;
}

bool SampleStream::ended() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->ended && shared_->pieces.empty() && !shared_->error;
}

int64_t SampleStream::kept() const { return shared_->kept; }

int64_t SampleStream::sampled() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->sampled;
}

double SampleStream::seconds() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->seconds;
}

}  // namespace vitrine::serve
