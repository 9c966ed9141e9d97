#pragma once

#include "vitrine/inspect/explain.h"
#include "vitrine/report/report.h"

namespace vitrine {

// Sections, each with its figures, that the page of one image shares with that of a gallery.

/// `e.distances` are means over this many images.
void distance_section(report::Report& page, const Explanation& e, int64_t images = 1);
/// Also writes faithfulness.csv.
void faithfulness_section(report::Report& page,
                          const std::vector<std::vector<PerturbationCurves>>& images);
/// Positions and filters, or that there are none.
void weights_sections(report::Report& page, const Explanation& e);

}  // namespace vitrine
