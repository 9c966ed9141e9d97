#pragma once

#include <cstdint>

#include "vitrine/core/fields.h"

namespace vitrine {

enum class ScheduleKind { Constant, Step, Cosine, OneCycle };
/// What the length of a run is: its epochs, or its budget of seconds.
enum class ScheduleSpan { Epochs, Budget };

/// How the learning rate changes over a run.
struct ScheduleConfig {
  ScheduleKind kind = ScheduleKind::Cosine;
  ScheduleSpan over = ScheduleSpan::Epochs;
  double warmup_epochs = 0;
  double final_lr_ratio = 0;  // cosine, one_cycle: final / peak learning rate
  double step_epochs = 30;
  double step_factor = 0.1;
  double rise = 0.3;             // one_cycle: fraction of the run spent rising
  double start_lr_ratio = 0.04;  // one_cycle: initial / peak learning rate

  void visit(Fields& f);
  void validate() const;
};

/// The factor on the peak learning rate at `step` (from 0) of `total`.
double schedule_factor(const ScheduleConfig& config, int64_t step, int64_t total,
                       int64_t steps_per_epoch);

/// The same after `seconds` of a run whose schedule spans its `budget` of seconds.
double budget_schedule_factor(const ScheduleConfig& config, double seconds, double budget);

}  // namespace vitrine
