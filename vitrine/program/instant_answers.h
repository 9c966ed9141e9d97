#pragma once

#include <span>
#include <string_view>

namespace vitrine {

/// A command line that always has the same answer.
struct InstantAnswer {
  std::string_view arguments;  // each with its final 0
  std::string_view answer;
};

/// All of them. The source file is written by write_answers.cpp during the build.
std::span<const InstantAnswer> instant_answers();

}  // namespace vitrine
