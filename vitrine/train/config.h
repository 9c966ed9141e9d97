#pragma once

#include <string>

#include "vitrine/core/fields.h"
#include "vitrine/core/precision.h"
#include "vitrine/core/settings.h"
#include "vitrine/data/config.h"
#include "vitrine/models/registry.h"
#include "vitrine/train/optimizer.h"
#include "vitrine/train/schedule.h"

namespace vitrine {

class RunFolder;

/// How much each class counts in the loss of a classifier.
enum class ClassWeights { None, Balanced };
/// How the feature maps of a frozen backbone are kept on disk, if they are.
enum class MapCache { None, Float32, Float16 };

/// What a student learns of a teacher's logits: the likeliest class, or all probabilities.
enum class DistillationKind { Hard, Soft };

/// The value of `train.freeze` with which all parameters learn; see train/freeze.h.
inline constexpr auto kNoFreeze = "none";
/// The value with which the backbone of a hybrid stays as it is.
inline constexpr auto kFreezeModelBackbone = "model.backbone";

/// Distillation as in DeiT: Touvron et al., "Training data-efficient image transformers" (2021).
struct DistillationConfig {
  DistillationKind kind = DistillationKind::Hard;
  double temperature = 3;
  double alpha = 0;

  bool operator==(const DistillationConfig&) const = default;
  void visit(Fields& f);
  void validate() const;
  /// `alpha`, or DeiT's.
  double teacher_fraction() const;
};

/// How a run learns.
struct TrainConfig {
  int64_t epochs = 10;
  std::string freeze = kNoFreeze;
  MapCache cache_backbone = MapCache::None;
  std::string teacher;  // the weights of a classifier to learn from; empty: labels alone
  DistillationConfig distillation;
  OptimizerConfig optimizer;
  ScheduleConfig schedule;
  double label_smoothing = 0;
  ClassWeights class_weights = ClassWeights::None;
  double clip = 0;
  int64_t accumulate = 1;
  double ema = 0;
  bool recompute = false;
  Precision precision = Precision::Float32;
  int64_t patience = 0;
  int64_t evaluate_every = 1;
  int64_t evaluate_steps = 0;
  double goal = 0;
  double budget_seconds = 0;
  int64_t checkpoint_steps = 0;
  int64_t log_steps = 20;

  void visit(Fields& f);
  void validate() const;
};

/// The time, in seconds, that each evaluation may take once the run's budget is used up.
inline double evaluation_budget(const TrainConfig& config) { return config.budget_seconds / 4; }

/// Everything that decides a run: same recipe, seed and threads give the same bits.
struct Recipe {
  std::string name = "run";
  int64_t seed = 1;
  std::string init;           // the weights to start from; empty: random ones
  std::string init_backbone;  // those of a hybrid's backbone alone
  bool scratch = false;
  ModelChoice model;
  DataConfig data;
  TrainConfig train;

  void visit(Fields& f);
  void validate() const;
};

/// The recipe that settings describe. With `init`, the model and the normalisation of its images
/// are those of the weights, unless the settings say otherwise; with `init_backbone`, the model's
/// backbone and that normalisation.
Recipe recipe_from(const Settings& settings);

/// Reads a recipe file with overrides. What it refuses is a `UsageError` (file, line and the key
/// that may be meant), unless the file cannot be read.
Recipe read_recipe(const std::string& path, const std::vector<std::string>& overrides);

/// The recipe that a run folder keeps. It is complete, so no other file is read.
Recipe read_stored_recipe(const RunFolder& folder, const std::vector<std::string>& overrides = {});

}  // namespace vitrine
