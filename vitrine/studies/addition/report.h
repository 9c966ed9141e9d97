#pragma once

#include "vitrine/core/files.h"
#include "vitrine/studies/addition/study.h"

namespace vitrine {

/// Writes what the study found into `folder`: report.html and report.ko.html, which need nothing
/// but themselves; their figures as PNG and SVG in figures/ and figures-ko/; the tables in English
/// as results.md. Parts that have not been run are left out and named as missing.
void write_addition_report(const AdditionStudy& study, const fs::path& folder);

}  // namespace vitrine
