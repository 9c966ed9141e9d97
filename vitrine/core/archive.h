#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "vitrine/core/files.h"

namespace vitrine {

/// Reads an archive (zip or tar, compressed or not) and hands over each file whose name, folders
/// included, `wanted` accepts. An unreadable or truncated archive throws, and so does one whose
/// files unpack to more than `max_bytes` (unwanted ones of a zip are not unpacked). No size that
/// the archive claims is believed. Of a file longer than `head` only so many bytes are unpacked and
/// handed over, whatever follows them.
void read_archive(const fs::path& path, const std::function<bool(const std::string& name)>& wanted,
                  const std::function<void(const std::string& name, std::string bytes)>& take,
                  uint64_t max_bytes = std::numeric_limits<uint64_t>::max(),
                  uint64_t head = std::numeric_limits<uint64_t>::max());

/// A file of an archive to be: its content is the parts, one after the other.
struct ArchiveFile {
  std::string name;
  std::vector<std::string_view> parts;
};

/// Writes a zip archive, uncompressed, atomically.
void write_zip(const fs::path& path, const std::vector<ArchiveFile>& files);

}  // namespace vitrine
