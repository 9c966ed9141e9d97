#include "vitrine/train/config.h"

#include <cmath>

#include "vitrine/core/checks.h"
#include "vitrine/plot/text.h"
#include "vitrine/train/freeze.h"
#include "vitrine/train/init_backbone.h"
#include "vitrine/train/init_weights.h"
#include "vitrine/train/run_folder.h"

namespace vitrine {
namespace {

struct NameKey {
  std::string name;
  void visit(Fields& f) { f("name", name, ""); }
};

/// Where a recipe says what it starts from: needed before its model can be read.
struct StartKeys {
  std::string init, init_backbone;
  NameKey model;
  void visit(Fields& f) {
    f.path("init", init, "");
    f.path("init_backbone", init_backbone, "");
    f.choice("model", model, "");
  }
};

Recipe complete_recipe(const Settings& settings) {
  Recipe recipe;
  settings.read_into(recipe);
  as_usage([&] { recipe.validate(); });
  return recipe;
}

/// The recipe on top of what the weights bring.
Recipe read_on_top(const Settings& settings, Recipe recipe, const auto& weights) {
  settings.read_into(recipe);
  weights.complete(recipe);
  as_usage([&] { recipe.validate(); });
  return recipe;
}

/// Whether only those random changes are made to training images that two maps per image hold.
bool flips_at_most(AugmentConfig augment) {
  augment.flip = AugmentConfig().flip;
  return augment.off();
}

Settings recipe_settings(const std::string& path, const std::vector<std::string>& overrides) {
  auto settings = Settings::from_file(path);
  for (const auto& assignment : overrides) settings.override_with(assignment);
  return settings;
}

}  // namespace

void DistillationConfig::visit(Fields& f) {
  f("kind", kind,
    Choices<DistillationKind>{{"hard", DistillationKind::Hard}, {"soft", DistillationKind::Soft}},
    "what the student learns of the teacher's logits: hard = the likeliest class, soft = the "
    "probabilities");
  f("temperature", temperature, "soft: divides the logits of both before softmax");
  f("alpha", alpha,
    "fraction of the loss that comes from the teacher, the rest from the labels; 0 = as DeiT has "
    "it: 0.5 for hard, 0.1 for soft");
}

void DistillationConfig::validate() const {
  check(std::isfinite(temperature) && temperature > 0,
        "train: distillation.temperature {} is not positive; DeiT takes 3", temperature);
  check(
      alpha >= 0 && alpha <= 1,
      "train: distillation.alpha {} is not between 0 and 1; DeiT takes 0.5 for hard, 0.1 for soft",
      alpha);
}

double DistillationConfig::teacher_fraction() const {
  if (alpha > 0) return alpha;
  return kind == DistillationKind::Hard ? 0.5 : 0.1;
}

void TrainConfig::visit(Fields& f) {
  f("epochs", epochs, "passes over the training data");
  f("freeze", freeze,
    "what stays as `init` has it: none, model.backbone (the network before a hybrid's patches), "
    "embed (all before the blocks), N (that and the first N blocks) or backbone (all but the "
    "head)");
  f("cache_backbone", cache_backbone,
    Choices<MapCache>{
        {"none", MapCache::None}, {"fp32", MapCache::Float32}, {"fp16", MapCache::Float16}},
    "compute the feature maps of a hybrid's frozen backbone once and keep them on disk, in this "
    "precision");
  f.path("teacher", teacher,
         "a classifier to learn from beside the labels (distillation): a run folder, a checkpoint "
         "or published weights; empty = labels alone");
  f.group("distillation", distillation, "how the student learns from the teacher");
  f.group("optimizer", optimizer, "the update rule");
  f.group("schedule", schedule, "the learning rate over time");
  f("label_smoothing", label_smoothing, "fraction of the target spread over all classes");
  f("class_weights", class_weights,
    Choices<ClassWeights>{{"none", ClassWeights::None}, {"balanced", ClassWeights::Balanced}},
    "balanced = classes count in the loss by the inverse of their frequency");
  f("clip", clip, "gradient norm for clipping; 0 = no clipping");
  f("accumulate", accumulate, "gradient accumulation steps");
  f("ema", ema,
    "decay of an exponential moving average of the weights, used for evaluation; 0 = none");
  f("recompute", recompute, "gradient checkpointing: less memory, about a third more time");
  f("precision", precision, training_precision_names(),
    "how products with weights are computed: bf16 rounds their factors, sums are in fp32; auto = "
    "bf16 where the device has instructions for it, else fp32");
  f("patience", patience, "stop after this many evaluations without a better one; 0 = never");
  f("evaluate_every", evaluate_every, "epochs between two evaluations");
  f("evaluate_steps", evaluate_steps,
    "steps between two evaluations inside an epoch, points of the validation curve that choose no "
    "checkpoint; 0 = only after epochs");
  f("goal", goal,
    "stop as soon as the selection metric on the validation set reaches this; 0 = never");
  f("budget_seconds", budget_seconds,
    "stop after this many seconds of training (the bits then depend on the machine); 0 = never");
  f("checkpoint_steps", checkpoint_steps,
    "steps between two resume points inside an epoch; 0 = only after epochs");
  f("log_steps", log_steps, "steps between two lines of metrics.jsonl; 0 = only after epochs");
}

void TrainConfig::validate() const {
  // Beyond that the number of examples of a run would not fit 64 bits.
  constexpr int64_t kMax = 1'000'000'000;
  check(epochs >= 1 && epochs <= kMax, "train: epochs {} is not between 1 and {}", epochs, kMax);
  check(accumulate >= 1 && accumulate <= kMax, "train: accumulate {} is not between 1 and {}",
        accumulate, kMax);
  check_freeze(freeze);
  check(cache_backbone == MapCache::None || freeze != kNoFreeze,
        "train: cache_backbone keeps the maps of a backbone that does not learn; set "
        "train.freeze={}",
        kFreezeModelBackbone);
  check_fraction("train", "label_smoothing", label_smoothing);
  check_fraction("train", "ema", ema);
  check(clip >= 0, "train: clip {} is negative", clip);
  check(evaluate_every > 0, "train: evaluate_every {} must be at least 1", evaluate_every);
  check(patience >= 0 && evaluate_steps >= 0 && checkpoint_steps >= 0 && log_steps >= 0,
        "train: patience {}, evaluate_steps {}, checkpoint_steps {} and log_steps {} must not be "
        "negative",
        patience, evaluate_steps, checkpoint_steps, log_steps);
  check(budget_seconds >= 0, "train: budget_seconds {} is negative", budget_seconds);
  check(schedule.over == ScheduleSpan::Epochs || budget_seconds > 0,
        "train: schedule.over is budget, but there is none; set train.budget_seconds, or "
        "train.schedule.over=epochs");
  distillation.validate();
  check(!teacher.empty() || distillation == DistillationConfig(),
        "train: distillation is set, but nothing to learn from; set train.teacher to a run folder, "
        "a checkpoint or published weights");
  check(teacher.empty() || cache_backbone == MapCache::None,
        "train: teacher {} reads images, and cache_backbone gives feature maps in their place; set "
        "train.cache_backbone=none",
        teacher);
  optimizer.validate();
  schedule.validate();
}

void Recipe::visit(Fields& f) {
  f("name", name, "the run folder's name");
  f("seed", seed, "decides all randomness");
  f.path("init", init,
         "pre-trained weights to start from: a run folder, a checkpoint or published weights; "
         "empty = random weights");
  f.path("init_backbone", init_backbone,
         "pre-trained weights of a ResNet that fill only the model's backbone");
  f("scratch", scratch,
    "take model and preprocessing of `init`, but random weights: the control of fine-tuning");
  f.choice("model", model, "the network");
  f.group("data", data, "the data and how it is prepared");
  f.group("train", train, "training settings");
}

void Recipe::validate() const {
  const auto shown = plot::clean_text(name);
  check(!name.empty() && name.find('/') == std::string::npos && shown == name,
        "recipe: name '{}' must be a plain word, without slashes or control characters", shown);
  model->validate();
  data.validate();
  train.validate();
  check(!scratch || !init.empty(),
        "recipe: scratch takes the model of init, which is empty; give init, or leave scratch out");
  const bool backbone_alone = train.freeze == kFreezeModelBackbone;
  check(train.freeze == kNoFreeze || (!init.empty() && !scratch) ||
            (backbone_alone && !init_backbone.empty()),
        "train: freeze {} would keep random weights as they are; set {} to pre-trained weights, "
        "or train.freeze={}",
        train.freeze, backbone_alone ? "init_backbone" : "init", kNoFreeze);
  check(train.cache_backbone == MapCache::None || flips_at_most(data.augment),
        "train: cache_backbone holds a map of each image and of its mirror image, so of "
        "data.augment only flip goes with it; leave out the rest, or set "
        "train.cache_backbone=none");
}

Recipe read_recipe(const std::string& path, const std::vector<std::string>& overrides) {
  return recipe_from(recipe_settings(path, overrides));
}

Recipe recipe_from(const Settings& settings) {
  StartKeys start;
  settings.read_part_into(start);
  check_usage(!start.init.empty() || !start.model.name.empty(),
              "recipe: model.name is missing; choose one of `vitrine models`, or give pre-trained "
              "weights as init");
  check_usage(start.init.empty() || start.init_backbone.empty(),
              "recipe: init {} fills the whole model, its backbone too; leave out init_backbone",
              start.init);
  if (start.init.empty() && start.init_backbone.empty()) return complete_recipe(settings);
  if (start.init.empty()) {
    const InitBackbone weights(start.init_backbone);
    return read_on_top(settings, weights.defaults(start.model.name), weights);
  }
  const InitWeights weights(start.init);
  return read_on_top(settings, weights.defaults(), weights);
}

Recipe read_stored_recipe(const RunFolder& folder, const std::vector<std::string>& overrides) {
  return complete_recipe(recipe_settings(folder.recipe().string(), overrides));
}

}  // namespace vitrine
