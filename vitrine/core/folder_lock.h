#pragma once

#include <string>

#include "vitrine/core/files.h"

namespace vitrine {

/// While it lives, no other process has a lock on the folder. The system takes it away from a
/// process that dies. File systems without such locks (NFS) give none.
class FolderLock {
 public:
  /// Throws `refusal` if another process holds the lock.
  FolderLock(const fs::path& folder, const std::string& refusal);
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;
  ~FolderLock();

 private:
  int folder_;
};

}  // namespace vitrine
