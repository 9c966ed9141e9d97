#pragma once

#include "vitrine/inspect/explain.h"
#include "vitrine/report/report.h"

namespace vitrine {

// The parts of the pages that explain an image or many: each writes one section with its figures.
// Those whose numbers the explanation does not have must not be called.

void answer_section(report::Report& page, const Explanation& e);
/// Relevance and Grad-CAM.
void class_maps_section(report::Report& page, const Explanation& e);
void rollout_section(report::Report& page, const Explanation& e);
void heads_section(report::Report& page, const Explanation& e);
/// `e.distances` are means over this many images.
void distance_section(report::Report& page, const Explanation& e, int64_t images = 1);
void lens_section(report::Report& page, const Explanation& e);
/// Also writes faithfulness.csv.
void faithfulness_section(report::Report& page,
                          const std::vector<std::vector<PerturbationCurves>>& images);
/// Positions and filters, or that there are none.
void weights_sections(report::Report& page, const Explanation& e);

}  // namespace vitrine
