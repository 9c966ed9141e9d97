#include "vitrine/studies/sweep_runner.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <thread>

#include "vitrine/core/error.h"
#include "vitrine/core/file_writing.h"
#include "vitrine/core/folder_lock.h"
#include "vitrine/core/interrupt.h"
#include "vitrine/core/progress.h"
#include "vitrine/studies/sweep_figure.h"
#include "vitrine/studies/sweep_plan.h"
#include "vitrine/studies/sweep_table.h"
#include "vitrine/studies/sweep_worker.h"

namespace vitrine {
namespace {

constexpr auto kPollPeriod = std::chrono::milliseconds(20);
constexpr auto kNotePeriod = std::chrono::seconds(1);

/// A set of points, each run with some seeds: the search of learning rates, then the sweep itself.
struct Stage {
  std::string label, unit;
  std::vector<SweepPoint> points;
  std::vector<int64_t> seeds;
  double budget;  // seconds per run
  fs::path folder;
  std::function<void(const SweepResult&)> write;
};

class StageRunner {
 public:
  StageRunner(Stage stage, const SweepConfig& config, const TrainProgram& train)
      : stage_(std::move(stage)), name_(config.name), varied_(varied_keys(config)), train_(train) {}

  SweepResult run(const SweepOptions& options, int64_t workers) {
    look_what_is_there(options.retry_failed);
    if (options.only_stored) return results();
    make_folder(stage_.folder);
    remove_half_written(stage_.folder);
    stage_.write(results());
    hosts_ = options.hosts;
    if (hosts_.empty()) hosts_ = {""};  // here
    make_missing_runs(workers);
    return results();
  }

 private:
  fs::path folder_of(const SweepPoint& point, int64_t seed) const {
    return stage_.folder / run_name(point, varied_, seed);
  }

  /// Points may share runs; each run is made once.
  void look_what_is_there(bool retry_failed) {
    for (const auto& point : stage_.points) {
      for (const auto seed : stage_.seeds) {
        const SweepJob job{folder_of(point, seed), run_overrides(point, seed, stage_.budget), seed};
        if (!runs_.emplace(job.folder, point).second) continue;
        if (retry_failed) forget_failure(job);
        if (const auto result = stored_result(job))
          done_[job.folder] = *result;
        else
          waiting_.push_back(job);
      }
    }
  }

  void make_missing_runs(int64_t workers) {
    Progress progress(stage_.label, static_cast<int64_t>(runs_.size()), stage_.unit);
    progress.start_at(static_cast<int64_t>(done_.size()));
    bool stopping = false;
    while (true) {
      if (interrupted() && !std::exchange(stopping, true)) stop();
      for (const auto& host : hosts_)
        while (!waiting_.empty() && working_on(host) < workers) start_next(host);
      if (working_.empty()) break;
      std::erase_if(working_, [&](const auto& worker) {
        if (!worker->ended()) return false;
        finish(*worker);
        return true;
      });
      look_at_first_run();
      progress.update(static_cast<int64_t>(done_.size()), note_);
      std::this_thread::sleep_for(kPollPeriod);
    }
    progress.update(static_cast<int64_t>(done_.size()), note_);
  }

  /// Until a run has ended, the note is how far the first one is.
  void look_at_first_run() {
    const auto now = std::chrono::steady_clock::now();
    if (ended_here_ || working_.empty() || now - looked_ < kNotePeriod) return;
    looked_ = now;
    note_ = working_.front()->last_words();
  }

  int64_t working_on(const std::string& host) const {
    return std::ranges::count(working_, host, [](const auto& worker) { return worker->host(); });
  }

  void start_next(const std::string& host) {
    working_.push_back(std::make_unique<SweepWorker>(train_, waiting_.front(), host));
    waiting_.pop_front();
  }

  void stop() {
    waiting_.clear();
    for (const auto& worker : working_) worker->interrupt();
  }

  /// The other hosts make the runs of one that cannot be used.
  void leave_out(const SweepWorker& worker, const std::string& reason) {
    std::erase(hosts_, worker.host());
    check(!hosts_.empty(), "sweep: host {}: {}; then the same command resumes the sweep",
          worker.host(), reason);
    fmt::print(stderr, "note: host {} is left out: {}\n", worker.host(), reason);
    waiting_.push_front(worker.job());
  }

  void finish(const SweepWorker& worker) {
    if (interrupted() && !worker.succeeded()) return;  // interrupted, not failed
    if (const auto reason = worker.host_failure(train_); !reason.empty())
      return leave_out(worker, reason);
    const auto& folder = worker.job().folder;
    done_[folder] = worker.result();
    note_ = run_note(runs_[folder], varied_, done_[folder]);
    ended_here_ = true;
    stage_.write(results());
  }

  SweepResult results() const {
    SweepResult result{name_, {}};
    for (const auto& point : stage_.points) {
      result.points.push_back({point, {}});
      for (const auto seed : stage_.seeds)
        if (const auto run = done_.find(folder_of(point, seed)); run != done_.end())
          result.points.back().runs.push_back(run->second);
    }
    return result;
  }

  Stage stage_;
  std::string name_;
  std::vector<std::string> varied_;
  TrainProgram train_;
  std::map<fs::path, SweepPoint> runs_;  // each with a point that it belongs to
  std::map<fs::path, SweepRun> done_;
  std::vector<std::string> hosts_;
  std::deque<SweepJob> waiting_;
  std::vector<std::unique_ptr<SweepWorker>> working_;
  std::string note_;
  bool ended_here_ = false;  // a run, since we started
  std::chrono::steady_clock::time_point looked_{};
};

bool has_runs(const fs::path& folder) {
  return fs::exists(folder) && std::any_of(fs::directory_iterator(folder), {},
                                           [](const auto& entry) { return entry.is_directory(); });
}

/// A sweep's folder and the copies of its two files there.
struct SweepCopies {
  explicit SweepCopies(fs::path f) : folder(std::move(f)) {}
  /// What has changed since the copies were made; "" if nothing, or if there are none.
  std::string changed(const SweepConfig& config) const {
    if (!fs::exists(sweep) || !fs::exists(recipe)) return "";
    if (read_file(recipe) != read_file(config.recipe)) return "recipe";
    const auto before = parse_sweep(read_file(sweep), sweep.string());
    return changed_meaning(before, parse_sweep(config.text, config.name));
  }

  fs::path folder, sweep = folder / "sweep.yaml", recipe = folder / "recipe.yaml";
};

/// Copies the sweep and its recipe into the folder. Runs made before must have meant the same.
void claim(const SweepCopies& copies, const SweepConfig& config) {
  const auto& folder = copies.folder;
  if (const auto changed = copies.changed(config); !changed.empty()) {
    check(!has_runs(folder / "runs") && !has_runs(folder / "runs-search"),
          "sweep: {} holds runs with another '{}'; give the sweep another name, or remove that "
          "folder to start again",
          folder.string(), changed);
    fs::remove_all(folder / "runs");  // nothing but failures
    fs::remove_all(folder / "runs-search");
  }
  write_file_atomically(copies.recipe, read_file(config.recipe));
  write_file_atomically(copies.sweep, config.text);
}

/// A sweep in its folder, with the options that it was started with.
class Sweep {
 public:
  Sweep(const SweepConfig& config, const SweepOptions& options)
      : config_(config),
        options_(options),
        folder_(sweep_folder(config, options)),
        train_{program_of(options), folder_ / "recipe.yaml", config.threads} {
    if (!options.hosts.empty()) train_.shell.emplace(options.ssh);
  }

  SweepResult run() const {
    const auto points = sweep_points(config_);
    if (config_.learning_rates.empty()) return make_runs(points);
    const auto search = search_learning_rates(points);
    const bool complete = std::all_of(search.points.begin(), search.points.end(),
                                      [](const auto& point) { return !point.runs.empty(); });
    if (complete) return make_runs(best_tries(search, config_.learning_rates.size()));
    if (!options_.only_stored) write_tables(nothing_yet());
    return nothing_yet();
  }

  /// All points, without runs.
  SweepResult nothing_yet() const {
    SweepResult nothing{config_.name, {}};
    for (const auto& point : sweep_points(config_)) nothing.points.push_back({point, {}});
    return nothing;
  }

 private:
  static fs::path program_of(const SweepOptions& options) {
    const auto program = options.program.empty() ? this_program() : options.program;
    check(::access(program.c_str(), X_OK) == 0, "sweep: {} is no program", program.string());
    return program;
  }

  SweepResult search_learning_rates(const std::vector<SweepPoint>& points) const {
    return run_stage({"search",
                      "tries",
                      with_learning_rates(points, config_.learning_rates),
                      {config_.seeds[0]},
                      config_.search_budget,
                      folder_ / "runs-search",
                      [&](const SweepResult& search) {
                        write_file_atomically(folder_ / "search.csv", results_csv(search));
                      }});
  }

  SweepResult make_runs(const std::vector<SweepPoint>& points) const {
    const auto result =
        run_stage({"sweep", "runs", points, config_.seeds, config_.budget, folder_ / "runs",
                   [&](const SweepResult& result) { write_tables(result); }});
    if (!options_.only_stored) draw(result);
    return result;
  }

  SweepResult run_stage(Stage stage) const {
    const auto workers = options_.workers > 0 ? options_.workers : config_.workers;
    return StageRunner(std::move(stage), config_, train_).run(options_, workers);
  }

  void write_tables(const SweepResult& result) const {
    write_file_atomically(folder_ / "results.csv", results_csv(result));
    write_file_atomically(folder_ / "results.md",
                          results_markdown(result, config_, options_.command));
  }

  /// A figure is not worth a sweep: what goes wrong is only said.
  void draw(const SweepResult& result) const {
    try {
      const auto figure = sweep_figure(result, config_);
      if (!figure.panels.empty()) figure.save(folder_ / "results");
    } catch (const std::exception& e) {
      fmt::print(stderr, "note: {}\n", e.what());
    }
  }

  const SweepConfig& config_;
  const SweepOptions& options_;
  fs::path folder_;
  TrainProgram train_;
};

}  // namespace

fs::path sweep_folder(const SweepConfig& config, const SweepOptions& options) {
  return options.out / config.name;
}

SweepResult run_sweep(const SweepConfig& config, const SweepOptions& options) {
  const Sweep sweep(config, options);
  const SweepCopies copies(sweep_folder(config, options));
  if (options.only_stored) {
    const auto changed = copies.changed(config);
    if (changed.empty()) return sweep.run();
    fmt::print(stderr, "{}: left out, its runs were made with another '{}'\n",
               copies.folder.string(), changed);
    return sweep.nothing_yet();
  }
  check_sweep_recipes(config);
  make_folder(copies.folder);
  const FolderLock lock(copies.folder,
                        fmt::format("sweep: another sweep is at work in {}; wait for its end",
                                    copies.folder.string()));
  remove_half_written(copies.folder);
  claim(copies, config);
  catch_interrupts();
  return sweep.run();
}

bool is_complete(const SweepResult& result, const SweepConfig& config) {
  return std::all_of(result.points.begin(), result.points.end(),
                     [&](const auto& point) { return point.runs.size() == config.seeds.size(); });
}

}  // namespace vitrine
