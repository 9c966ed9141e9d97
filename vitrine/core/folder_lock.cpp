#include "vitrine/core/folder_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "vitrine/core/error.h"

namespace vitrine {

FolderLock::FolderLock(const fs::path& folder, const std::string& refusal)
    : folder_(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
  if (folder_ < 0) fail("cannot open folder {}: {}", folder.string(), std::strerror(errno));
  if (::flock(folder_, LOCK_EX | LOCK_NB) == 0) return;
  const bool taken = errno == EWOULDBLOCK;
  const std::string reason = std::strerror(errno);
  ::close(folder_);
  if (taken) fail("{}", refusal);
  fail("cannot lock folder {}: {}", folder.string(), reason);
}

FolderLock::~FolderLock() { ::close(folder_); }

}  // namespace vitrine
