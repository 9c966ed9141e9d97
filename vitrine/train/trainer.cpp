#include "vitrine/train/trainer.h"

#include <torch/torch.h>

#include <chrono>
#include <cmath>

#include "vitrine/core/error.h"
#include "vitrine/core/interrupt.h"
#include "vitrine/core/progress.h"
#include "vitrine/core/random.h"
#include "vitrine/data/loader.h"
#include "vitrine/models/model.h"
#include "vitrine/nn/parameter_count.h"
#include "vitrine/ops/adam.h"
#include "vitrine/train/autocast.h"
#include "vitrine/train/distributed/batch_results.h"
#include "vitrine/train/distributed/gradient_exchange.h"
#include "vitrine/train/ema_model.h"
#include "vitrine/train/freeze.h"
#include "vitrine/train/run_state.h"
#include "vitrine/weights/checkpoint.h"

namespace vitrine {
namespace {

// Epochs of small networks take milliseconds: their checkpoints are written now and then.
constexpr double kSecondsBetweenSaves = 5;

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double unix_time() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

class Training {
 public:
  Training(const TrainRequest& request, std::shared_ptr<Model> model, const Splits& data)
      : request_(request),
        recipe_(request.recipe),
        config_(request.recipe.train),
        data_(data),
        device_(request.device),
        model_(std::move(model)),
        objective_(request.objective),
        selection_(objective_.selection_metric()),
        group_(WorkerGroup::or_alone(request.group)),
        optimizer_(config_.optimizer, on_device(), request.group),
        exchange_(group_, gradients_of(*model_)),
        batches_((data.train->size() + recipe_.data.batch - 1) / recipe_.data.batch),
        steps_per_epoch_((batches_ + config_.accumulate - 1) / config_.accumulate) {
    check(!config_.recompute || device_.is_cpu(),
          "train: recompute replays the random numbers of the CPU only; set train.recompute=false");
    model_->recompute_blocks = config_.recompute;
    if (config_.ema > 0) {
      auto copy = recipe_.model.build();
      copy->to(device_);
      average_.emplace(std::move(copy), *model_, config_.ema);
    }
    if (request.resume) {
      if (group_.leads()) request.folder.remove_leftovers();
      position_ = load_run_state(request.folder, *model_, average_ ? &average_->model() : nullptr,
                                 optimizer_);
      check(position_.finished || position_.epoch < config_.epochs,
            "resume: {} has trained {} epochs, its recipe now says train.epochs {}; set it to more",
            request.folder.path().string(), position_.epoch, config_.epochs);
      check(position_.objective == objective_.checksum(),
            "resume: {} began with other weights of its teacher than {} holds now; put those back, "
            "or start the run again",
            request.folder.path().string(), config_.teacher);
      check_same_run(position_.fingerprint, request.fingerprint, request.folder.path().string());
    }
    if (group_.leads())
      metrics_.emplace(request.folder.metrics(), request.resume ? position_.metrics_bytes : 0);
    position_.threads = request.threads;
    position_.objective = objective_.checksum();
    position_.fingerprint = request.fingerprint;
    if (request.on_start) request.on_start();
  }

  RunOutcome run() {
    catch_interrupts();
    check_same_weights();
    if (!request_.resume) save_state();  // a kill in the first epoch can be resumed, too
    const int64_t examples = data_.train->size() * config_.epochs;
    if (request_.show_progress) progress_.emplace("train", examples, "examples");
    if (progress_)
      progress_->start_at(position_.epoch * data_.train->size() +
                          position_.batch * recipe_.data.batch);
    bool going_on = true;
    while (!position_.finished && going_on) going_on = run_epoch();
    progress_.reset();
    return {.stop_reason = stop_reason(),
            .selection_metric = selection_,
            .validation = position_.best,
            .epochs = position_.epoch,
            .steps = position_.step,
            .seconds = position_.seconds,
            .parameters = parameter_count(*model_),
            .folder = request_.folder.path()};
  }

 private:
  /// The parameters that learn, in the order of the model.
  static std::vector<torch::Tensor> gradients_of(const Model& model) {
    std::vector<torch::Tensor> learning;
    for (const auto& p : model.parameters())
      if (p.requires_grad()) learning.push_back(p);
    return learning;
  }

  std::vector<ParameterInfo> on_device() {
    model_->to(device_);
    return model_->parameter_info();
  }

  /// False if the user interrupted it; the resume state is saved then. An epoch that is interrupted
  /// while it is evaluated is resumed behind its last batch.
  bool run_epoch() {
    set_training_mode(*model_);
    const double began = now(), seconds_before = position_.seconds;
    double evaluating = 0;  // seconds since then that were no training
    const auto elapsed = [&] { return now() - began - evaluating; };
    int64_t examples = 0;
    Loader loader(*data_.train, {.batch = recipe_.data.batch,
                                 .shuffle = true,
                                 .seed = static_cast<uint64_t>(recipe_.seed),
                                 .epoch = position_.epoch,
                                 .first_step = position_.batch,
                                 .workers = recipe_.data.workers,
                                 .takes = [&](int64_t batch) { return computes(batch); }});
    const auto waited_share = [&] { return loader.seconds_waited() / elapsed(); };
    while (position_.batch < batches_ && !over_budget()) {
      auto results = run_step(loader);
      examples += note_step(std::move(results), seconds_before + elapsed());
      show_progress();
      const bool inside = position_.batch < batches_;
      if (due(config_.log_steps))
        write_step_line(static_cast<double>(examples) / elapsed(), waited_share());
      if (inside && due(config_.evaluate_steps) && !over_budget())
        evaluating += write_evaluation_line();
      if (interrupted_ || (inside && due(config_.checkpoint_steps))) save_state();
      if (interrupted_) return false;
    }
    return finish_epoch(static_cast<double>(examples) / elapsed(), waited_share());
  }

  bool due(int64_t steps) const { return steps > 0 && position_.step % steps == 0; }

  /// The batches of a step are dealt out to the ranks.
  bool computes(int64_t batch) const {
    return batch % config_.accumulate % group_.size() == group_.rank();
  }

  /// One optimizer step over up to `accumulate` batches; returns what those of this rank came to.
  std::vector<BatchResult> run_step(Loader& loader) {
    const auto first = position_.batch, parts = std::min(config_.accumulate, batches_ - first);
    const auto examples =
        std::min(parts * recipe_.data.batch, data_.train->size() - first * recipe_.data.batch);
    std::vector<BatchResult> results;
    for (auto step = first + group_.rank(); step < first + parts; step += group_.size()) {
      const auto batch = loader.next();
      torch::manual_seed(
          Random({static_cast<uint64_t>(recipe_.seed), static_cast<uint64_t>(position_.epoch),
                  static_cast<uint64_t>(step)})
              .next());
      // A block that is recomputed adds to a shared parameter more than once.
      if (step + group_.size() >= first + parts && !config_.recompute) exchange_.begin();
      results.push_back(
          learn_from(*batch, static_cast<double>(batch->size()) / static_cast<double>(examples)));
      results.back().step = step;
    }
    exchange_.finish();
    position_.batch += parts;
    gradient_norm_ = optimizer_.gradient_norm();
    check_finite(gradient_norm_, "the gradient's norm");
    const double scale =
        config_.clip > 0 && gradient_norm_ > config_.clip ? config_.clip / gradient_norm_ : 1;
    optimizer_.step(learning_rate(position_.step), scale);
    optimizer_.zero_gradients();
    ++position_.step;
    if (average_) average_->update(*model_, position_.step);
    return results;
  }

  /// Notes what the batches of a step came to, on whatever rank, and agrees on the time and on
  /// whether to stop; returns the examples seen.
  int64_t note_step(std::vector<BatchResult> results, double seconds) {
    const auto all = gather_results(group_, std::move(results), interrupted(), {seconds});
    interrupted_ = all.interrupted;
    position_.seconds = all.leader.at(0);
    int64_t examples = 0;
    for (const auto& b : all.batches) {
      position_.running.add(b.loss, b.sums, b.targets);
      examples += b.examples;
      loss_ = b.loss;
    }
    return examples;
  }

  /// Ranks whose arithmetic differs would train apart, unnoticed.
  void check_same_weights() const {
    if (group_.size() == 1) return;  // epochs of small networks take milliseconds
    const auto all = group_.gather({joint_norm(model_->parameters())});
    for (size_t rank = 0; rank < all.size(); ++rank)
      check(all[rank] == all[0],
            "train: rank {} holds other weights than rank 0; train on machines with the same kind "
            "of CPU and the same number of threads each",
            rank);
  }

  /// `weight`: the batch's fraction of the optimizer step.
  BatchResult learn_from(const Batch& batch, double weight) {
    const auto there = batch.to(device_);
    LossAndOutput answer;
    {
      const Autocast autocast(config_.precision == Precision::BFloat16);
      answer = objective_.loss(*model_, there);
    }
    const auto loss = answer.loss.item<double>();
    check_finite(loss, "the loss");
    (answer.loss * weight).backward();
    const torch::NoGradGuard no_grad;
    return {.loss = loss,
            .targets = objective_.target_count(there.targets),
            .examples = batch.size(),
            .sums = objective_.batch_metrics(answer.output, there.targets)};
  }

  void check_finite(double value, const char* what) const {
    if (std::isfinite(value)) return;
    const auto& folder = request_.folder;
    fail(
        "train: {} is {} at step {} (epoch {}, learning rate {:g}). Last good checkpoint: {}. "
        "Likely "
        "causes: the learning rate is too high (try train.optimizer.lr={:g}{} or "
        "train.schedule.warmup_epochs=1), gradients explode (try train.clip=1), or the inputs hold "
        "NaN or are not normalised{}",
        what, value, position_.step, position_.epoch + 1, learning_rate(position_.step),
        fs::exists(folder.resume()) ? folder.resume().string() : "none yet",
        config_.optimizer.lr / 10,
        config_.optimizer.kind == optimizers::muon
            ? fmt::format(" train.optimizer.matrix_lr={:g}", config_.optimizer.matrix_lr / 10)
            : "",
        config_.precision == Precision::BFloat16 ? "; bf16 may be too coarse (try fp32)" : "");
  }

  /// Of `step`; of this moment if the schedule spans the budget.
  double learning_rate(int64_t step) const {
    const auto& schedule = config_.schedule;
    return config_.optimizer.lr *
           (schedule.over == ScheduleSpan::Budget
                ? budget_schedule_factor(schedule, position_.seconds, config_.budget_seconds)
                : schedule_factor(schedule, step, steps_per_epoch_ * config_.epochs,
                                  steps_per_epoch_));
  }

  /// Evaluates and notes the epoch; false if the user interrupted that.
  bool finish_epoch(double examples_per_second, double waited_share) {
    check_same_weights();
    MetricsLine line{"epoch", position_.epoch + 1, position_.step, unix_time()};
    EpochSummary summary{.epoch = position_.epoch + 1,
                         .epochs = config_.epochs,
                         .train = position_.running.metrics(objective_),
                         .seconds = position_.seconds};
    for (const auto& [name, value] : summary.train)
      line.values.emplace_back("train_" + name, value);
    const bool last = summary.epoch >= config_.epochs || over_budget();
    auto& model = average_ ? average_->model() : *model_;
    std::optional<Evaluation> evaluation;
    if (last || summary.epoch % config_.evaluate_every == 0) {
      evaluation = evaluate_validation(/*stop_on_interrupt=*/true);
      if (evaluation->interrupted) {
        save_state();
        return false;
      }
      add_validation(line, *evaluation);
      summary.validation = evaluation->metrics;
    }
    ++position_.epoch;
    position_.batch = 0;
    position_.running = {};
    const bool better = evaluation && note_evaluation(evaluation->metrics);
    line.values.emplace_back("learning_rate", learning_rate(position_.step - 1));
    line.values.emplace_back("examples_per_second", examples_per_second);
    line.values.emplace_back("waited_share", waited_share);
    line.values.emplace_back("seconds", position_.seconds);
    position_.finished = last || reached_goal() || !patient();
    add_line(line);
    if (better) save_model(request_.folder.best(), model);
    const bool stop = group_.any(interrupted()) && !position_.finished;
    if (position_.finished || stop || now() - saved_ >= kSecondsBetweenSaves) {
      save_model(request_.folder.last(), model);
      save_state();
      saved_ = now();
    }
    if (progress_) progress_->clear();
    if (request_.on_metrics) request_.on_metrics(line);
    summary.best = position_.best;
    summary.best_epoch = position_.best_epoch;
    if (request_.on_epoch) request_.on_epoch(summary);
    return !stop;
  }

  StopReason stop_reason() const {
    if (!position_.finished) return StopReason::Interrupted;
    if (reached_goal()) return StopReason::ReachedGoal;
    if (position_.step == steps_per_epoch_ * config_.epochs) return StopReason::Finished;
    return over_budget() ? StopReason::OverBudget : StopReason::StoppedEarly;
  }

  bool reached_goal() const {
    if (config_.goal == 0 || position_.best.empty()) return false;
    return !selection_.better(config_.goal, metric_value(position_.best, selection_.name));
  }

  bool over_budget() const {
    return config_.budget_seconds > 0 && position_.seconds >= config_.budget_seconds;
  }

  bool patient() const {
    return config_.patience == 0 || position_.evaluations_without_gain < config_.patience;
  }

  /// Whether this evaluation is the best so far: by the selection metric, then by the loss. Only
  /// the former counts for the patience.
  bool note_evaluation(const Metrics& metrics) {
    const double now = metric_value(metrics, selection_.name),
                 before = metric_value(position_.best, selection_.name);
    const bool gain = position_.best.empty() || selection_.better(now, before);
    position_.evaluations_without_gain = gain ? 0 : position_.evaluations_without_gain + 1;
    if (!better_evaluation(metrics, position_.best, selection_)) return false;
    position_.best = metrics;
    position_.best_epoch = position_.epoch;
    return true;
  }

  void write_step_line(double examples_per_second, double waited_share) {
    MetricsLine line{"step", position_.epoch + 1, position_.step, unix_time()};
    line.values = {{kLossName, loss_}};
    for (auto& derived : objective_.derived_metrics(loss_))
      line.values.push_back(std::move(derived));
    line.values.insert(line.values.end(), {{"gradient_norm", gradient_norm_},
                                           {"learning_rate", learning_rate(position_.step - 1)},
                                           {"seconds", position_.seconds},
                                           {"examples_per_second", examples_per_second},
                                           {"waited_share", waited_share}});
    if (group_.size() > 1) {
      const auto exchange = exchange_.times();
      line.values.emplace_back("exchange_seconds", exchange.sums);
      line.values.emplace_back("exchange_waited_seconds", exchange.waited);
    }
    add_line(line);
    if (request_.on_metrics) request_.on_metrics(line);
  }

  Evaluation evaluate_validation(bool stop_on_interrupt) {
    auto& model = average_ ? average_->model() : *model_;
    group_.take_from_leader(model.buffers());  // running statistics of BatchNorm differ by rank
    return evaluate(model, *data_.validation, objective_,
                    {.batch = recipe_.data.batch,
                     .workers = recipe_.data.workers,
                     .device = device_,
                     .label = "validate",
                     .max_seconds = over_budget() ? evaluation_budget(config_) : 0,
                     .stop_on_interrupt = stop_on_interrupt,
                     .group = &group_});
  }

  void add_validation(MetricsLine& line, const Evaluation& evaluation) const {
    check_finite(evaluation.loss, "the validation loss");
    for (const auto& [name, value] : evaluation.metrics)
      line.values.emplace_back("validation_" + name, value);
  }

  /// A point of the validation curve inside an epoch; returns the seconds it took. It chooses no
  /// checkpoint, and Ctrl-C waits for it: the state that is saved next is behind it.
  double write_evaluation_line() {
    const double began = now();
    MetricsLine line{"evaluation", position_.epoch + 1, position_.step, unix_time()};
    add_validation(line, evaluate_validation(/*stop_on_interrupt=*/false));
    set_training_mode(*model_);
    line.values.emplace_back("seconds", position_.seconds);
    add_line(line);
    if (request_.on_metrics) request_.on_metrics(line);
    return now() - began;
  }

  void add_line(const MetricsLine& line) {
    if (!metrics_) return;
    request_.folder.check_in_place();
    metrics_->add(line);
  }

  void save_model(const fs::path& path, const Model& model) const {
    if (!group_.leads()) return;
    request_.folder.check_in_place();
    save_checkpoint(path, model,
                    {.model = recipe_.model,
                     .preprocess = preprocess_of(recipe_.data),
                     .classes = data_.classes,
                     .recipe = to_yaml(recipe_),
                     .epoch = position_.epoch,
                     .step = position_.step});
  }

  void save_state() {
    if (!group_.leads()) return;
    request_.folder.check_in_place();
    check_finite(joint_norm(model_->parameters()), "the weights' norm");
    metrics_->sync();
    position_.metrics_bytes = metrics_->bytes();
    save_run_state(request_.folder, *model_, average_ ? &average_->model() : nullptr, optimizer_,
                   position_);
  }

  void show_progress() {
    if (!progress_) return;
    const auto done = position_.epoch * data_.train->size() +
                      std::min(position_.batch * recipe_.data.batch, data_.train->size());
    const double loss = position_.running.loss(),
                 selected = metric_value(position_.running.metrics(objective_), selection_.name);
    auto note = fmt::format("epoch {}/{}, loss {:#.4g}", position_.epoch + 1, config_.epochs, loss);
    if (selected != loss)
      note += fmt::format(", {} {}", selection_.name, selection_.text(selected));
    if (config_.budget_seconds > 0)
      progress_->set_budget(position_.seconds, config_.budget_seconds);
    progress_->update(done, note);
  }

  const TrainRequest& request_;
  const Recipe& recipe_;
  const TrainConfig& config_;
  const Splits& data_;
  torch::Device device_;
  std::shared_ptr<Model> model_;
  const Objective& objective_;
  const Metric selection_;
  const WorkerGroup& group_;
  Optimizer optimizer_;
  GradientExchange exchange_;
  std::optional<EmaModel> average_;
  std::optional<MetricsFile> metrics_;
  std::optional<Progress> progress_;
  RunPosition position_;
  double loss_ = 0, gradient_norm_ = 0;  // of the last step
  bool interrupted_ = false;             // any rank, behind the last step
  double saved_ = 0;                     // when an epoch last wrote its checkpoint
  const int64_t batches_, steps_per_epoch_;
};

}  // namespace

RunOutcome train(const TrainRequest& request, std::shared_ptr<Model> model, const Splits& data) {
  return Training(request, std::move(model), data).run();
}

}  // namespace vitrine
