#pragma once

#include "vitrine/studies/addition/report.h"

namespace vitrine::addition {

/// The parts of the page about trained networks, each with its heading; a part without data writes
/// nothing.
void write_tuned(AdditionReport& r, const Networks& networks);
void write_low_rate(AdditionReport& r, const Networks& networks);
void write_attention(AdditionReport& r, const AttentionStudy& attention);

}  // namespace vitrine::addition
