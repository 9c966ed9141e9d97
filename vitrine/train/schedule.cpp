#include "vitrine/train/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "vitrine/core/error.h"

namespace vitrine {
namespace {

/// From `a` to `b` along half a cosine; `t` in [0, 1].
double cosine_between(double a, double b, double t) {
  return b + (a - b) * 0.5 * (1 + std::cos(std::numbers::pi * std::clamp(t, 0.0, 1.0)));
}

/// At `at` of `end`; `epoch` is the length of one, in the same unit.
double lr_factor(const ScheduleConfig& c, double at, double end, double epoch) {
  if (c.kind == ScheduleKind::OneCycle) {
    const double top = c.rise * end;
    if (at < top) return cosine_between(c.start_lr_ratio, 1, at / top);
    return cosine_between(1, c.final_lr_ratio, (at - top) / (end - top));
  }
  const double warm = c.warmup_epochs * epoch;
  if (at < warm) return (at + 1) / warm;
  switch (c.kind) {
    case ScheduleKind::Step:
      return std::pow(c.step_factor, std::floor(at / (c.step_epochs * epoch)));
    case ScheduleKind::Cosine:
      return cosine_between(1, c.final_lr_ratio, (at - warm) / std::max(1.0, end - warm));
    default:
      return 1;
  }
}

}  // namespace

void ScheduleConfig::visit(Fields& f) {
  f("kind", kind,
    Choices<ScheduleKind>{{"constant", ScheduleKind::Constant},
                          {"step", ScheduleKind::Step},
                          {"cosine", ScheduleKind::Cosine},
                          {"one_cycle", ScheduleKind::OneCycle}},
    "learning-rate schedule");
  f("over", over,
    Choices<ScheduleSpan>{{"epochs", ScheduleSpan::Epochs}, {"budget", ScheduleSpan::Budget}},
    "what the schedule spans: the run's epochs, or its train.budget_seconds");
  f("warmup_epochs", warmup_epochs,
    "linear warm-up from 0 before the schedule (not for one_cycle)");
  f("final_lr_ratio", final_lr_ratio,
    "cosine, one_cycle: final learning rate / peak learning rate");
  f("step_epochs", step_epochs, "step: epochs between two drops");
  f("step_factor", step_factor, "step: factor of each drop");
  f("rise", rise, "one_cycle: fraction of the run in which the learning rate rises");
  f("start_lr_ratio", start_lr_ratio, "one_cycle: initial learning rate / peak learning rate");
}

void ScheduleConfig::validate() const {
  check(warmup_epochs >= 0, "schedule: warmup_epochs {} is negative", warmup_epochs);
  check(final_lr_ratio >= 0 && start_lr_ratio >= 0 && step_factor > 0,
        "schedule: final_lr_ratio {}, start_lr_ratio {} and step_factor {} must not be negative",
        final_lr_ratio, start_lr_ratio, step_factor);
  check(step_epochs > 0, "schedule: step_epochs {} must be positive", step_epochs);
  check(rise > 0 && rise < 1, "schedule: rise {} is not between 0 and 1", rise);
  check(over == ScheduleSpan::Epochs || (warmup_epochs == 0 && kind != ScheduleKind::Step),
        "schedule: over the budget nothing is known of epochs, so there is no warmup_epochs and no "
        "kind step; take one_cycle, which begins with a rise");
}

double schedule_factor(const ScheduleConfig& c, int64_t step, int64_t total,
                       int64_t steps_per_epoch) {
  return lr_factor(c, static_cast<double>(step), static_cast<double>(std::max<int64_t>(total, 1)),
                static_cast<double>(steps_per_epoch));
}

double budget_schedule_factor(const ScheduleConfig& c, double seconds, double budget) {
  return lr_factor(c, seconds, budget, /*epoch=*/0);
}

}  // namespace vitrine
