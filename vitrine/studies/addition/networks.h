#pragma once

#include "vitrine/studies/addition/study.h"

namespace vitrine::addition {

/// The best checkpoint of a run that did not fail, asked for all 10,000 sums.
TrainedNetwork load_network(const PointResult& point, const SweepRun& run);

/// What the heads of a run's Transformer look at.
AttentionStudy study_attention(const fs::path& run);

}  // namespace vitrine::addition
