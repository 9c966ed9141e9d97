#include "vitrine/train/probe.h"

#include <torch/torch.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "vitrine/core/error.h"
#include "vitrine/core/interrupt.h"
#include "vitrine/core/progress.h"
#include "vitrine/core/settings.h"
#include "vitrine/core/stopwatch.h"
#include "vitrine/data/image_batches.h"
#include "vitrine/infer/device.h"
#include "vitrine/models/model.h"
#include "vitrine/nn/parameter_count.h"
#include "vitrine/ops/runtime.h"
#include "vitrine/train/evaluate.h"
#include "vitrine/train/feature_cache.h"
#include "vitrine/train/freeze.h"
#include "vitrine/train/init_weights.h"
#include "vitrine/train/run_folder.h"
#include "vitrine/train/trainer.h"

namespace vitrine {
namespace {

/// The XXH3 of a model's weights and buffers, without those of its head.
std::string checksum_without_head(Model& model) {
  const auto head = head_parameters(model);
  auto weights = named_weights(model);
  std::erase_if(weights, [&](const auto& named) {
    return std::any_of(head.begin(), head.end(),
                       [&](const auto& part) { return part.is_same(named.second); });
  });
  return checksum_of(weights);
}

/// The features of a split as one tensor, (N, C).
struct ProbeFeatures {
  torch::Tensor features, targets;
};

torch::Tensor logits_of(const LinearClassifier& classifier, const torch::Tensor& features) {
  return torch::addmm(classifier.bias, features, classifier.weight.t());  // (B, N)
}

/// Mean and standard deviation of each feature, by which a classifier sees them.
struct FeatureStandardization {
  torch::Tensor mean, std;  // (C)

  explicit FeatureStandardization(const torch::Tensor& features)
      : mean(features.mean(0)), std(features.std(0, /*unbiased=*/false).clamp_min(1e-6)) {}

  torch::Tensor operator()(const torch::Tensor& features) const { return (features - mean) / std; }
  /// The classifier of the features as they are.
  LinearClassifier undone(const LinearClassifier& c) const {
    const auto weight = c.weight / std;
    return {weight, c.bias - weight.mv(mean)};
  }
};

/// A probe whose recipe, data and model fit.
class Probe {
 public:
  Probe(Recipe recipe, const RunOptions& options, const ProbeOptions& probe)
      : recipe_(std::move(recipe)), options_(options), probe_(probe) {}

  RunOutcome run() {
    const Stopwatch watch;
    prepare();
    if (compute_all_features() && train()) {
      install_head();
      test();
    }
    if (interrupted()) {
      outcome_.stop_reason = StopReason::Interrupted;
      return outcome_;
    }
    outcome_.seconds = watch.seconds();
    save();
    return outcome_;
  }

 private:
  void say(const std::string& text) const {
    if (options_.on_message) options_.on_message(text);
  }

  void prepare() {
    data_ = open_data(recipe_.data, static_cast<uint64_t>(recipe_.seed));
    check(data_.task == Task::Classes, "probe: data set '{}' has no classes; choose another",
          recipe_.data.dataset.name());
    InitWeights weights(recipe_.init);
    weights.fit(recipe_, data_);
    model_ = build_for_training(recipe_, data_);
    say(weights.load_into(*model_));
    for (const auto& note : weights.notes(recipe_)) say(note);
    model_->to(open_device(options_.device));
    model_->eval();
    objective_ = make_objective(data_, ObjectiveSettings(/*smoothing=*/0));
    outcome_.selection_metric = objective_->selection_metric();
    checksum_ = checksum_without_head(*model_);
  }

  bool compute_all_features() {
    return compute_features(*data_.train, Split::Train, train_) &&
           compute_features(*data_.validation, Split::Validation, validation_) &&
           compute_features(*data_.test, Split::Test, test_);
  }

  bool compute_features(const BatchSource& source, Split split, ProbeFeatures& set) {
    const auto name = split_name(split);
    const auto found =
        cached_features(source, [&](const torch::Tensor& x) { return model_->features(x); },
                        {.cache = probe_.cache,
                         .key = fmt::format("weights: {}\nmodel:\n{}{}", checksum_,
                                            to_yaml(recipe_.model), examples_key(recipe_, name)),
                         .label = "features, " + name,
                         .batch = recipe_.data.batch,
                         .workers = recipe_.data.workers,
                         .device = torch::Device(options_.device)});
    if (!found) return false;
    set = {torch::cat(found->parts), found->targets};
    check(set.features.dim() == 2,
          "probe: {} gives features of {} dimensions, a linear classifier "
          "takes 2",
          recipe_.model.name(), set.features.dim());
    say(fmt::format("features of {} {} images: {}, {}", source.size(), name,
                    found->from_cache ? "from the cache; computing them took" : "computed in",
                    duration_text(found->seconds)));
    return true;
  }

  Metrics metrics_of(const torch::Tensor& output, const torch::Tensor& targets) const {
    MetricAccumulator sums;
    sums.add(cross_entropy(output, targets, /*smoothing=*/0).item<double>(),
             objective_->batch_metrics(output, targets), targets.size(0));
    return sums.metrics(*objective_);
  }

  std::string text_of(const Metrics& metrics) const {
    return metrics_text(metrics, objective_->metrics(), objective_->selection_metric());
  }

  bool train() {
    const FeatureStandardization standard(train_.features);
    const auto inputs = standard(train_.features), held_out = standard(validation_.features);
    const auto classes = std::ssize(data_.classes);
    LinearClassifier classifier{torch::zeros({classes, inputs.size(1)}), torch::zeros({classes})};
    for (const double decay : probe_.weight_decays) {
      if (interrupted()) return false;
      classifier = fit_linear(inputs, train_.targets, decay, classifier);
      const auto metrics = metrics_of(logits_of(classifier, held_out), validation_.targets);
      const bool better =
          better_evaluation(metrics, outcome_.validation, outcome_.selection_metric);
      say(fmt::format("weight decay {:g}: train {}, validation {}{}", decay,
                      text_of(metrics_of(logits_of(classifier, inputs), train_.targets)),
                      text_of(metrics), better ? ", * best so far" : ""));
      if (!better) continue;
      outcome_.validation = metrics;
      best_ = standard.undone(classifier);
    }
    return true;
  }

  void install_head() {
    const torch::NoGradGuard no_grad;
    const auto head = [&] {
      const torch::AutoGradMode with_grad(true);
      return head_parameters(*model_);
    }();
    // Several heads answer with their mean, each from its part of the features.
    const auto heads = std::count_if(head.begin(), head.end(),
                                     [](const auto& parameter) { return parameter.dim() == 2; });
    const auto parts = best_.weight.chunk(std::max<int64_t>(heads, 1), 1);
    size_t next = 0;
    for (const auto& parameter : head) {
      const bool matrix = parameter.dim() == 2 && next < parts.size();
      const auto value = matrix ? parts[next++] * heads : best_.bias;
      check(parameter.sizes() == value.sizes(),
            "probe: the head of {} is not one linear layer, so it cannot take the classifier",
            recipe_.model.name());
      parameter.copy_(value);
    }
  }

  void test() {
    const auto output = logits_of(best_, test_.features);
    outcome_.test = metrics_of(output, test_.targets);
    report_ = objective_->make_report();
    std::vector<int64_t> indices(test_.targets.size(0));
    std::iota(indices.begin(), indices.end(), 0);
    if (report_) report_->add(output, test_.targets, indices);
    say("test " + text_of(outcome_.test));
  }

  void save() {
    const auto folder = options_.folder.empty() ? RunFolder::create(options_.out, recipe_.name)
                                                : RunFolder::create_at(options_.folder);
    write_file_atomically(folder.recipe(), to_yaml(recipe_));
    model_->to(torch::kCPU);
    save_checkpoint(folder.best(), *model_,
                    {.model = recipe_.model,
                     .preprocess = preprocess_of(recipe_.data),
                     .classes = data_.classes,
                     .recipe = to_yaml(recipe_)});
    save_report(folder);
    outcome_.parameters = parameter_count(*model_);
    outcome_.checkpoint_bytes = static_cast<int64_t>(fs::file_size(folder.best()));
    outcome_.folder = folder.path();
    write_run_outcome(folder.result(), outcome_);
  }

  /// A figure is not worth a run: what goes wrong is only said.
  void save_report(const RunFolder& folder) const {
    if (!report_ || !options_.write_reports) return;
    try {
      report_->save(folder.path());
    } catch (const std::exception& e) {
      say(fmt::format("note: {}", e.what()));
    }
  }

  Recipe recipe_;
  const RunOptions& options_;
  const ProbeOptions& probe_;
  Splits data_;
  std::shared_ptr<Model> model_;
  std::unique_ptr<Objective> objective_;
  std::unique_ptr<Report> report_;
  std::string checksum_;
  ProbeFeatures train_, validation_, test_;
  LinearClassifier best_;
  RunOutcome outcome_;
};

}  // namespace

LinearClassifier fit_linear(const torch::Tensor& features, const torch::Tensor& targets,
                            double weight_decay, const LinearClassifier& start) {
  constexpr int64_t kMaxIterations = 200, kHistory = 10;
  constexpr double kSmallestGradient = 1e-6, kSmallestChange = 1e-12;
  const torch::AutoGradMode with_grad(true);
  LinearClassifier c{start.weight.detach().clone().requires_grad_(true),
                     start.bias.detach().clone().requires_grad_(true)};
  torch::optim::LBFGS optimizer({c.weight, c.bias}, torch::optim::LBFGSOptions(/*lr=*/1)
                                                        .max_iter(kMaxIterations)
                                                        .history_size(kHistory)
                                                        .tolerance_grad(kSmallestGradient)
                                                        .tolerance_change(kSmallestChange)
                                                        .line_search_fn("strong_wolfe"));
  optimizer.step([&] {
    optimizer.zero_grad();
    const auto loss = cross_entropy(logits_of(c, features), targets, /*smoothing=*/0) +
                      weight_decay / 2 * c.weight.square().sum();
    loss.backward();
    return loss;
  });
  return {c.weight.detach(), c.bias.detach()};
}

RunOutcome run_probe(Recipe recipe, const RunOptions& options, const ProbeOptions& probe) {
  check(!recipe.init.empty(), "probe: no weights are given; set init");
  open_device(options.device);
  if (options.threads) set_up_runtime(*options.threads);
  recipe.data = resolved_data_config(recipe.data);
  recipe.train.freeze = "backbone";
  catch_interrupts();
  return Probe(std::move(recipe), options, probe).run();
}

}  // namespace vitrine
