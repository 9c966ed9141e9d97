#pragma once

namespace vitrine {

/// From now on the first Ctrl-C (or SIGTERM) only raises a flag, so that long work can save itself;
/// the second one ends the process at once.
void catch_interrupts();
bool interrupted();

}  // namespace vitrine
