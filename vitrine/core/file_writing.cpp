#include "vitrine/core/file_writing.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <utility>

#include "vitrine/core/error.h"

namespace vitrine {
namespace {

/// Whether the name is one that `temporary_path` gives.
bool is_temporary(const fs::path& path) {
  const auto process = path.stem().extension().string();
  return path.extension() == ".tmp" && process.size() > 1 &&
         std::all_of(process.begin() + 1, process.end(),
                     [](unsigned char c) { return std::isdigit(c); });
}

}  // namespace

WritableFile::WritableFile(fs::path path, Mode mode) : path_(std::move(path)) {
  const int how = mode == Mode::Replace ? O_TRUNC : O_APPEND;
  fd_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | how, 0644);
  // No `check`, whose text takes memory: without it the file would be left behind.
  if (fd_ < 0) fail("write: cannot open {}: {}", path_.string(), std::strerror(errno));
}

WritableFile::~WritableFile() {
  if (fd_ >= 0) ::close(fd_);
}

void WritableFile::write(const void* bytes, size_t count) {
  const char* from = static_cast<const char*>(bytes);
  while (count > 0) {
    const ssize_t written = ::write(fd_, from, count);
    if (written < 0 && errno == EINTR) continue;
    check(written >= 0,
          "write: {}: {}; free space or choose another folder, earlier files are untouched",
          path_.string(), std::strerror(errno));
    from += written;
    count -= static_cast<size_t>(written);
  }
}

// In both the call stands alone: among the arguments, errno could be read before it.
void WritableFile::sync() const {
  const bool synced = ::fsync(fd_) == 0;
  check(synced, "write: {}: {}", path_.string(), std::strerror(errno));
}

void WritableFile::close() {
  const bool closed = ::close(std::exchange(fd_, -1)) == 0;
  check(closed, "write: {}: {}", path_.string(), std::strerror(errno));
}

void sync_folder(const fs::path& folder) {
  const auto* path = folder.empty() ? "." : folder.c_str();
  const int fd = ::open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0 && errno == EACCES) return;  // one may write to it, but not read it
  check(fd >= 0, "write: cannot open folder {}: {}", path, std::strerror(errno));
  const int error = ::fsync(fd) == 0 ? 0 : errno;
  ::close(fd);
  const bool cannot = error == EINVAL || error == ENOTSUP;  // a file system without it
  check(error == 0 || cannot, "write: folder {}: {}", path, std::strerror(error));
}

fs::path temporary_path(const fs::path& path) {
  auto temporary = path;
  temporary += fmt::format(".{}.tmp", ::getpid());
  return temporary;
}

void remove_half_written(const fs::path& folder) {
  for (const auto& entry : fs::directory_iterator(folder))
    if (is_temporary(entry.path())) fs::remove(entry.path());
}

}  // namespace vitrine
