#pragma once

#include <map>
#include <string>
#include <string_view>

namespace vitrine::serve {

/// The files of the page (web/) that are built into the program, by path ("/index.html"); none if
/// it was built where npm had no network.
const std::map<std::string, std::string_view>& page_files();

}  // namespace vitrine::serve
