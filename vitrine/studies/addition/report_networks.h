#pragma once

#include "vitrine/studies/addition/report.h"

namespace vitrine::addition {

/// The parts of the page about trained networks, each with its heading; a part without data writes
/// nothing.
void write_tuned_networks(AdditionReport& r, const Networks& networks);
void write_low_rate_networks(AdditionReport& r, const Networks& networks);
void write_network_attention(AdditionReport& r, const AttentionStudy& attention);

}  // namespace vitrine::addition
