#pragma once

#include <vector>

#include "vitrine/plot/figure.h"
#include "vitrine/studies/addition/findings.h"
#include "vitrine/studies/addition/study.h"
#include "vitrine/studies/addition/text.h"
#include "vitrine/train/metrics.h"

namespace vitrine {

/// The first sweep uses a low learning rate, the second higher ones.
enum class SweepRound { First, Second };

/// Answers of both networks, one set per seed; one of the two may have none.
using AnswersOfBoth = PerArchitecture<std::vector<AdditionAnswers>>;

/// Whether any answer of either network is wrong.
bool any_wrong(const AnswersOfBoth& answers);

/// The same colours in every figure: indices of `plot::series_color`.
constexpr int64_t architecture_color(AdditionArchitecture architecture) {
  return architecture == AdditionArchitecture::Cnn ? 0 : 1;
}

/// Test loss (red), test accuracy (green) and training time (blue) against each setting: mean over
/// the seeds, with single runs (loss) or a band of one standard deviation (the others).
plot::Figure sweep_figure(const SweepResult& sweep, AdditionArchitecture architecture,
                          SweepRound round, Language language);

/// Training loss over epochs and over seconds, one line per run; at least one run is needed.
plot::Figure loss_figure(const PerArchitecture<std::vector<std::vector<MetricsLine>>>& runs,
                         Language language);

/// The deviation of every pair of one run.
plot::Figure error_map_figure(const AdditionAnswers& answers, AdditionArchitecture architecture,
                              Language language);

/// Boxes of the deviations over all runs: of all answers, and of the wrong ones if there are any.
plot::Figure deviation_box_figure(const AnswersOfBoth& answers, Language language);

/// The most frequent deviations of both networks side by side, mean count per run;
/// throws if no answer is wrong.
plot::Figure top_deviations_figure(const AnswersOfBoth& answers, Language language);

/// The share of wrong answers by number of carries and of wrong digits by place, mean over runs;
/// throws if no answer is wrong.
plot::Figure error_kinds_figure(const AnswersOfBoth& answers, Language language);

/// Accuracy of both networks against the learning rate; shading shows who is clearly ahead.
plot::Figure learning_rate_figure(const PerArchitecture<std::optional<SweepResult>>& rates,
                                  Language language);

/// Accuracy on held-out pairs against the share of pairs used for training.
plot::Figure held_out_figure(const PerArchitecture<std::optional<SweepResult>>& held_out,
                             Language language);

/// One heat map per layer and head for one pair.
plot::Figure attention_figure(const AttentionStudy& study, Language language);

/// How the mean attention changes where a sum has a carry, per layer and head.
plot::Figure carry_attention_figure(const AttentionStudy& study, Language language);

}  // namespace vitrine
