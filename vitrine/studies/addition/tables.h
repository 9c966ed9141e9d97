#pragma once

#include <string>
#include <vector>

#include "vitrine/plot/page.h"
#include "vitrine/studies/addition/findings.h"
#include "vitrine/studies/addition/study.h"
#include "vitrine/studies/addition/text.h"

namespace vitrine {

using plot::Table;

/// The table in Markdown, under its title as a heading.
std::string markdown(const Table& table);

/// The final networks, mean ± standard deviation over the runs, beside what the source gives. The
/// runs of one network share their settings.
Table tuned_table(const PerArchitecture<std::vector<TrainedNetwork>>& runs, Language language);

/// Networks trained with a low learning rate, in the same way.
Table low_rate_table(const PerArchitecture<std::vector<TrainedNetwork>>& runs, Language language);

/// The five most frequent deviations of each network over all its runs; no rows without errors.
/// `which` names the networks in the title.
Table deviations_table(const PerArchitecture<std::vector<TrainedNetwork>>& runs,
                       const std::string& which, Language language);

/// Both networks at the learning rates they share.
Table rates_table(const std::vector<SharedPoint>& points, Language language);

/// Both networks at the shares of held-out pairs they share.
Table held_out_table(const std::vector<SharedPoint>& points, Language language);

/// Small networks by rising number of parameters.
Table small_table(const PerArchitecture<std::optional<SweepResult>>& sweeps, Language language);

}  // namespace vitrine
