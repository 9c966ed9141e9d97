#pragma once

#include <string>
#include <utility>
#include <vector>

namespace vitrine::plot {

/// Files by name, with their bytes.
using NamedBytes = std::vector<std::pair<std::string, std::string>>;

/// Runs the script with the files beside it in a folder of its own, which is removed afterwards,
/// and returns the bytes of each output file it was to write. A missing or failing gnuplot throws.
std::vector<std::string> run_gnuplot(const std::string& script, const NamedBytes& files,
                                     const std::vector<std::string>& outputs);

}  // namespace vitrine::plot
