#include "vitrine/core/files.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "vitrine/core/error.h"

namespace vitrine {
namespace {

/// A file being written; removed again unless it was kept.
class TemporaryFile {
 public:
  explicit TemporaryFile(fs::path path) : path_(std::move(path)) {
    fd_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    check(fd_ >= 0, "write: cannot create {}: {}", path_.string(), std::strerror(errno));
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() {
    if (fd_ >= 0) ::close(fd_);
    if (!kept_) ::unlink(path_.c_str());
  }

  void write(const void* bytes, size_t count) {
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

  void move_to(const fs::path& target) {
    // The calls stand alone: among the arguments, errno could be read before them.
    const bool synced = ::fsync(fd_) == 0;
    check(synced, "write: {}: {}", path_.string(), std::strerror(errno));
    const bool closed = ::close(std::exchange(fd_, -1)) == 0;
    check(closed, "write: {}: {}", path_.string(), std::strerror(errno));
    const bool renamed = ::rename(path_.c_str(), target.c_str()) == 0;
    check(renamed, "write: cannot rename {} to {}: {}", path_.string(), target.string(),
          std::strerror(errno));
    kept_ = true;
    sync_folder(target.parent_path());
  }

 private:
  static void sync_folder(const fs::path& folder) {
    const int fd =
        ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return;
    ::fsync(fd);
    ::close(fd);
  }

  fs::path path_;
  int fd_ = -1;
  bool kept_ = false;
};

}  // namespace

std::string read_file(const fs::path& path) {
  std::error_code unknown;  // a path that cannot be followed is reported by the open below
  check(!fs::is_directory(path, unknown), "read: {} is a folder, expected a file", path.string());
  check(!fs::is_character_file(path, unknown), "read: {} is a device, expected a file",
        path.string());  // it may have no end
  std::ifstream in(path, std::ios::binary);
  check(in.good(), "read: cannot open {}: {}", path.string(), std::strerror(errno));
  std::string text;
  for (char block[1 << 16]; in.read(block, sizeof block), in.gcount() > 0;)
    text.append(block, static_cast<size_t>(in.gcount()));
  check(!in.bad(), "read: {}: {}", path.string(), std::strerror(errno));
  return text;
}

void write_file_atomically(const fs::path& path, const std::function<void(const ByteSink&)>& fill) {
  auto temporary = path;
  temporary += fmt::format(".{}.tmp", ::getpid());
  TemporaryFile file(temporary);
  fill([&](const void* bytes, size_t count) { file.write(bytes, count); });
  file.move_to(path);
}

void write_file_atomically(const fs::path& path, std::string_view text) {
  write_file_atomically(path, [&](const ByteSink& sink) { sink(text.data(), text.size()); });
}

fs::path shipped_path(const fs::path& relative) {
  if (fs::exists(relative)) return relative;
  std::error_code error;
  const auto program = fs::read_symlink("/proc/self/exe", error);
  const auto installed = program.parent_path().parent_path() / "share" / "vitrine" / relative;
  return fs::exists(installed) ? installed : relative;
}

void make_folder(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  check(!error, "write: cannot make folder {}: {}", path.string(), error.message());
}

}  // namespace vitrine
