#include "vitrine/serve/engine/batch_queue.h"

#include <algorithm>

namespace vitrine::serve {

struct BatchQueue::Job {
  std::vector<float> inputs{};
  int64_t rows = 0;
  Place place{};
  std::function<bool()> work{};  // instead of inputs; whether there is more of it
  bool begun = false;            // it has had a turn
  Deadline deadline = kNoDeadline;
  Clock::time_point arrived = Clock::now();
  std::promise<std::vector<float>> answer{};
};

BatchQueue::BatchQueue(const BatchLimits& limits, Forward forward, Observe observe)
    : limits_(limits),
      forward_(std::move(forward)),
      observe_(std::move(observe)),
      free_places_(limits.queue) {
  check(limits_.queue >= 1 && limits_.max_batch >= 1 && limits_.max_delay >= 0,
        "serve: queue {}, max-batch {} and max-delay {} must be at least 1, 1 and 0", limits_.queue,
        limits_.max_batch, limits_.max_delay);
  thread_ = std::thread([this] { serve(); });
}

BatchQueue::~BatchQueue() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

BatchQueue::Place BatchQueue::reserve() {
  if (--free_places_ < 0) {
    ++free_places_;
    throw QueueFull(
        fmt::format("the queue is full ({} requests wait); try again later", limits_.queue));
  }
  return {this, [this](const void*) { ++free_places_; }};
}

std::vector<float> BatchQueue::infer(Place place, std::vector<float> inputs, int64_t rows,
                                     Deadline deadline) {
  auto job = std::make_shared<Job>();
  job->place = std::move(place);
  job->inputs = std::move(inputs);
  job->rows = rows;
  job->deadline = deadline;
  return submit(std::move(job));
}

void BatchQueue::submit_work(std::function<void()> work, Deadline deadline) {
  auto job = std::make_shared<Job>();
  job->work = [work = std::move(work)] {
    work();
    return false;
  };
  job->deadline = deadline;
  submit(std::move(job));
}

void BatchQueue::take_turns(std::function<bool()> turn) {
  auto job = std::make_shared<Job>();
  job->work = std::move(turn);
  enqueue(std::move(job));
}

void BatchQueue::enqueue(std::shared_ptr<Job> job) {
  const std::lock_guard lock(mutex_);
  if (job->work && not_begun(/*other_work=*/true) >= limits_.jobs)
    throw QueueFull(
        fmt::format("the queue is full ({} requests wait); try again later", limits_.jobs));
  jobs_.push_back(std::move(job));
  changed_.notify_all();  // under the lock: behind it, the job may be done and the queue gone
}

std::vector<float> BatchQueue::submit(std::shared_ptr<Job> job) {
  auto answer = job->answer.get_future();
  const auto deadline = job->deadline;
  enqueue(std::move(job));
  if (deadline != kNoDeadline && answer.wait_until(deadline) != std::future_status::ready)
    throw DeadlinePassed("the deadline passed before the answer was there");
  return answer.get();
}

int64_t BatchQueue::waiting() const {
  const std::lock_guard lock(mutex_);
  return not_begun(/*other_work=*/false) + not_begun(/*other_work=*/true);
}

int64_t BatchQueue::not_begun(bool other_work) const {
  return std::count_if(jobs_.begin(), jobs_.end(), [&](const auto& job) {
    return !job->begun && (job->work != nullptr) == other_work;
  });
}

BatchQueue::Jobs BatchQueue::next() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return stopping_ || !jobs_.empty(); });
  if (jobs_.empty()) return {};
  const auto take = [&] {
    auto job = std::move(jobs_.front());
    jobs_.pop_front();
    job->place.reset();
    return job;
  };
  Jobs batch = {take()};
  if (batch[0]->work) return batch;
  const auto delay = std::chrono::duration<double, std::milli>(limits_.max_delay);
  const auto until = batch[0]->arrived + std::chrono::duration_cast<Clock::duration>(delay);
  for (auto rows = batch[0]->rows; rows < limits_.max_batch;) {
    const bool more = changed_.wait_until(lock, until, [&] { return stopping_ || !jobs_.empty(); });
    if (!more || jobs_.empty() || jobs_.front()->work ||
        rows + jobs_.front()->rows > limits_.max_batch)
      break;
    rows += jobs_.front()->rows;
    batch.push_back(take());
  }
  return batch;
}

void BatchQueue::compute(const Jobs& jobs) {
  auto inputs = std::move(jobs[0]->inputs);
  auto rows = jobs[0]->rows;
  const auto width = inputs.size() / static_cast<size_t>(rows);
  if (jobs.size() > 1) inputs.reserve(width * static_cast<size_t>(limits_.max_batch));
  for (size_t i = 1; i < jobs.size(); ++i) {
    inputs.insert(inputs.end(), jobs[i]->inputs.begin(), jobs[i]->inputs.end());
    rows += jobs[i]->rows;
  }
  std::vector<float> outputs;
  for (int64_t first = 0; first < rows; first += limits_.max_batch) {
    const auto count = std::min(limits_.max_batch, rows - first);
    const auto part = forward_(std::span(inputs).subspan(width * static_cast<size_t>(first),
                                                         width * static_cast<size_t>(count)),
                               count);
    outputs.insert(outputs.end(), part.begin(), part.end());
    observe_(count);
  }
  std::vector<std::vector<float>> answers;
  auto begin = outputs.begin();
  for (const auto& job : jobs) {
    const auto end = begin + std::ssize(outputs) / rows * job->rows;
    answers.emplace_back(begin, end);
    begin = end;
  }
  for (size_t i = 0; i < jobs.size(); ++i) jobs[i]->answer.set_value(std::move(answers[i]));
}

void BatchQueue::serve() {
  for (;;) {
    auto jobs = next();  // released before waiting for more: they hold images and places
    if (jobs.empty()) return;
    std::erase_if(jobs, [](const auto& job) {
      if (Clock::now() < job->deadline) return false;
      job->answer.set_exception(std::make_exception_ptr(
          DeadlinePassed("the deadline passed while the request waited in the queue")));
      return true;
    });
    if (jobs.empty()) continue;
    try {
      if (jobs[0]->work) {
        if (!jobs[0]->work()) {
          jobs[0]->answer.set_value({});
        } else {
          const std::lock_guard lock(mutex_);
          jobs[0]->begun = true;
          jobs_.push_back(jobs[0]);
        }
      } else {
        compute(jobs);
      }
    } catch (...) {
      for (const auto& job : jobs) job->answer.set_exception(std::current_exception());
    }
  }
}

}  // namespace vitrine::serve
