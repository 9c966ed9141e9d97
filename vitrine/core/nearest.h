#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace vitrine {

/// The known name with the fewest edits to `name`, or "" if all are far off.
std::string nearest(std::string_view name, const std::vector<std::string>& known);

/// "; did you mean 'x'?" for the nearest known name, or "" if none is near.
std::string did_you_mean(std::string_view name, const std::vector<std::string>& known);

}  // namespace vitrine
