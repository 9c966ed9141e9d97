#pragma once

// The calls by which this process changes files: recorded, or made to fail. A test program that
// compiles file_calls.cpp calls its open, write, fsync and so on in place of those of the C
// library, and so do the libraries that it uses.

#include <cstddef>
#include <mutex>
#include <string>
#include <vector>

#include "vitrine/core/files.h"

namespace vitrine::test {

/// A call that has been made.
struct FileCall {
  enum class Kind { Open, Write, Sync, Rename, Link, MakeFolder, Truncate };
  Kind kind;
  std::string path;
  std::string target{};                       // of a rename or link
  std::string bytes{};                        // of a write, which is always at the end of its file
  size_t size = 0;                            // of a truncation
  bool for_writing = false, empties = false;  // how a file was opened
};

/// A call that fails, counted from 1 (0: none), and whether all behind it fail as well. The first
/// of those, if it is a write, still writes half of its bytes: so does a disk that becomes full.
struct FileFault {
  size_t call = 0;
  int error = 0;
  bool lasting = false;
};

/// While it lives, it records the calls for files below a folder; one at a time.
class WatchedFiles {
 public:
  explicit WatchedFiles(const fs::path& folder, const FileFault& fault = {});
  WatchedFiles(const WatchedFiles&) = delete;
  WatchedFiles& operator=(const WatchedFiles&) = delete;
  ~WatchedFiles();

  /// The calls that did what they should, without those that only close a file.
  const std::vector<FileCall>& calls() const { return calls_; }
  /// How many there were, also of those that failed.
  size_t count() const { return count_; }

  // For the calls themselves.
  enum class Answer { Make, Fail, MakeHalf };
  bool watches(const std::string& path) const;
  /// What becomes of the next call; sets errno if it is to fail.
  Answer next();
  void note(FileCall call);

 private:
  const std::string folder_;
  const FileFault fault_;
  std::mutex mutex_;
  size_t count_ = 0;
  std::vector<FileCall> calls_;
};

}  // namespace vitrine::test
