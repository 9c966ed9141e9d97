#pragma once

#include "vitrine/core/files.h"
#include "vitrine/studies/sparse/study.h"

namespace vitrine::sparse {

/// Writes what the study found into `folder`: report.html, which needs nothing but itself, and its
/// figures as PNG and SVG in figures/. Parts that have not been run are named as missing.
void write_sparse_report(const SparseStudy& study, const fs::path& folder);

}  // namespace vitrine::sparse
