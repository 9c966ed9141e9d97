#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace vitrine::labs {

/// The texts of one language as its file text/<code>.yaml holds them.
struct LanguageFile {
  std::string code;
  std::string_view yaml;
};

/// Every file of the folder text, by code. The build writes this list.
const std::vector<LanguageFile>& language_files();

}  // namespace vitrine::labs
