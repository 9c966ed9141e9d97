#pragma once

#include "vitrine/studies/addition/study.h"

namespace vitrine {

/// A run's best checkpoint, asked for all 10,000 sums.
TrainedAdder load_adder(const PointResult& point, const RunResult& run);

/// What the heads of a run's Transformer look at.
AttentionStudy study_attention(const fs::path& run);

}  // namespace vitrine
