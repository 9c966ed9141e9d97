#pragma once

#include <cstdio>
#include <cstdlib>

namespace vitrine::fuzz {

/// Ends the process, as a crash would, unless `holds`: an accepted input broke a promise.
inline void must(bool holds, const char* otherwise) {
  if (holds) return;
  std::fprintf(stderr, "fuzz: %s\n", otherwise);
  std::abort();
}

}  // namespace vitrine::fuzz
