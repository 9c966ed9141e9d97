#include "vitrine/serve/engine/batch_queue.h"

#include <algorithm>

namespace vitrine::serve {

struct BatchQueue::Job {
  std::vector<float> inputs{};
  int64_t rows = 0;
  std::function<bool()> work{};  // instead of inputs; whether there is more of it
  bool begun = false;            // it has had a turn
  Deadline deadline = kNoDeadline;
  Clock::time_point arrived = Clock::now();
  std::promise<std::vector<float>> answer{};
};

BatchQueue::BatchQueue(const BatchLimits& limits, Forward forward, Observe observe)
    : limits_(limits), forward_(std::move(forward)), observe_(std::move(observe)) {
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

std::vector<float> BatchQueue::infer(std::vector<float> inputs, int64_t rows, Deadline deadline) {
  auto job = std::make_shared<Job>();
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
  if (const auto waiting = not_begun(); waiting >= limits_.queue)
    throw QueueFull(fmt::format("the queue is full ({} requests wait); try again later", waiting));
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
  return not_begun();
}

int64_t BatchQueue::not_begun() const {
  return std::count_if(jobs_.begin(), jobs_.end(), [](const auto& job) { return !job->begun; });
}

BatchQueue::Jobs BatchQueue::next() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return stopping_ || !jobs_.empty(); });
  if (jobs_.empty()) return {};
  const auto take = [&] {
    auto job = std::move(jobs_.front());
    jobs_.pop_front();
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
  std::vector<float> inputs, outputs;
  int64_t rows = 0;
  for (const auto& job : jobs) {
    inputs.insert(inputs.end(), job->inputs.begin(), job->inputs.end());
    rows += job->rows;
  }
  const auto width = std::ssize(inputs) / rows;
  for (int64_t first = 0; first < rows; first += limits_.max_batch) {
    const auto count = std::min(limits_.max_batch, rows - first);
    const auto begin = inputs.begin() + first * width;
    const auto part = forward_(std::vector<float>(begin, begin + count * width), count);
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
