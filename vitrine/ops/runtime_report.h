#pragma once

#include <string>

namespace vitrine {

/// The libraries that compute, with their versions, and the vector instructions that are used on
/// this processor: a line each.
std::string runtime_report();

}  // namespace vitrine
