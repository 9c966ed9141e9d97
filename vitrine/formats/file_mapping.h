#pragma once

#include <string_view>

#include "vitrine/core/files.h"

namespace vitrine {

/// The bytes of a file, which the system reads as they are touched (mmap): opening costs nothing,
/// and what has been read need not stay in memory. Writes to them are private to this process. The
/// file may be replaced or removed meanwhile, but not cut short.
class FileMapping {
 public:
  /// Throws an `Error` that begins with `who` and names the path.
  FileMapping(const fs::path& path, std::string_view who);
  FileMapping(const FileMapping&) = delete;
  FileMapping& operator=(const FileMapping&) = delete;
  ~FileMapping();

  std::string_view bytes() const { return {begin_, size_}; }
  /// Frees the memory of a part that has been read; touched again, it is read again. What has been
  /// written to it is lost.
  void give_back(std::string_view part) const;

 private:
  char* begin_ = nullptr;
  size_t size_ = 0;
};

}  // namespace vitrine
