#pragma once

#include <string>

namespace vitrine {

/// The address of this machine on the network that leads to `host`.
std::string local_address_towards(const std::string& host);

}  // namespace vitrine
