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
  if (errno != EWOULDBLOCK) return;  // a file system without such locks, as NFS for folders
  ::close(folder_);
  fail("{}", refusal);
}

FolderLock::~FolderLock() { ::close(folder_); }

}  // namespace vitrine
