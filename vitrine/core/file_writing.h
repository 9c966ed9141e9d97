#pragma once

#include <string_view>

#include "vitrine/core/files.h"

namespace vitrine {

/// A file that is open for writing. Whatever fails is an `Error` that names it and the cause.
class WritableFile {
 public:
  enum class Mode { Replace, Append };
  /// Makes the file if there is none.
  WritableFile(fs::path path, Mode mode);
  WritableFile(const WritableFile&) = delete;
  WritableFile& operator=(const WritableFile&) = delete;
  ~WritableFile();

  const fs::path& path() const { return path_; }
  void write(const void* bytes, size_t count);
  void write(std::string_view text) { write(text.data(), text.size()); }
  /// Waits until the disk has what was written to the file.
  void sync() const;
  void close();

 private:
  fs::path path_;
  int fd_ = -1;
};

/// Waits until the disk has the names in a folder (where the file system can do that).
void sync_folder(const fs::path& folder);

/// The name for a file while this process writes it, NAME.PROCESS.tmp: with it, and fsynced, the
/// file is renamed to its place.
fs::path temporary_path(const fs::path& path);

/// Removes what killed processes left in a folder under such names.
void remove_half_written(const fs::path& folder);

}  // namespace vitrine
