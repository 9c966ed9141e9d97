#pragma once

#include <vector>

#include "vitrine/plot/figure.h"
#include "vitrine/report/translations.h"
#include "vitrine/studies/addition/findings.h"
#include "vitrine/train/metrics.h"

namespace vitrine::addition {

using report::Translations;

/// Test loss (red), test accuracy (green) and training time (blue) against each setting of sweep
/// `round`, 1 or 2: mean over the seeds, with single runs (loss) or a band of one standard
/// deviation (the others).
plot::Figure sweep_figure(const SweepResult& sweep, Architecture network, int round,
                          const Translations& t);

/// Accuracy of both networks against the learning rate; shading shows who is clearly ahead.
plot::Figure learning_rate_figure(const Sweeps& rates, const Translations& t);

/// Accuracy on held-out pairs against the fraction of pairs used for training.
plot::Figure held_out_figure(const Sweeps& held_out, const Translations& t);

/// Training loss over epochs and over seconds, one line per run; at least one run is needed.
plot::Figure loss_figure(const PerArchitecture<std::vector<std::vector<MetricsLine>>>& runs,
                         const Translations& t);

/// The error of every pair of one run.
plot::Figure error_map_figure(const AdditionAnswers& answers, Architecture network,
                              const Translations& t);

/// Boxes of the errors over all runs: of all answers, and of the wrong ones if there are any.
plot::Figure error_box_figure(const AnswersOfBoth& answers, const Translations& t);

/// The most frequent errors of both networks side by side, mean count per run; some answer must be
/// wrong.
plot::Figure top_errors_figure(const AnswersOfBoth& answers, const Translations& t);

/// The fraction of wrong answers by number of carries and of wrong digits by position, mean over
/// runs; some answer must be wrong.
plot::Figure error_kinds_figure(const AnswersOfBoth& answers, const Translations& t);

/// One heat map per layer and head for one pair.
plot::Figure attention_figure(const AttentionStudy& study, const Translations& t);

/// How the mean attention changes where a sum has a carry, per layer and head.
plot::Figure carry_attention_figure(const AttentionStudy& study, const Translations& t);

}  // namespace vitrine::addition
