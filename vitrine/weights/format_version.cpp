#include "vitrine/weights/format_version.h"

#include <charconv>

namespace vitrine {
namespace {

constexpr const char* kFormatVersion = "format_version";
constexpr int64_t kCurrentVersion = 1;

}  // namespace

std::pair<const std::string, std::string> format_version_entry() {
  return {kFormatVersion, std::to_string(kCurrentVersion)};
}

void check_format_version(const std::map<std::string, std::string>& metadata,
                          const fs::path& path) {
  const auto found = metadata.find(kFormatVersion);
  if (found == metadata.end()) return;
  const auto& text = found->second;
  int64_t version = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), version);
  check(error == std::errc() && end == text.data() + text.size() && version > 0,
        "checkpoint: {}: its format version is not a number from 1 on, so it is not complete",
        path.string());
  if (version > kCurrentVersion)
    throw NewerFormatError(
        fmt::format("checkpoint: {} was written by a newer vitrine (format version {}; this one "
                    "reads up to {}); update vitrine",
                    path.string(), version, kCurrentVersion));
}

}  // namespace vitrine
