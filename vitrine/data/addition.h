#pragma once

#include "vitrine/data/registry.h"

namespace vitrine {

/// All 10,000 sums of two numbers 00 .. 99: digits (B, 4) in, the sum's digits (B, 3) as targets.
/// A fraction `validation` of the pairs is held out of training; the test set is always all pairs.
DatasetEntry addition_dataset();

/// The pairs a run with these settings never learns from, as indices a * 100 + b.
std::vector<int64_t> held_out_pairs(const DataConfig& config, uint64_t seed);

}  // namespace vitrine
