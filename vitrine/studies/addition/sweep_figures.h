#pragma once

#include "vitrine/plot/figure.h"
#include "vitrine/report/translations.h"
#include "vitrine/studies/addition/findings.h"

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

}  // namespace vitrine::addition
