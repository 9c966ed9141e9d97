#include "vitrine/core/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "vitrine/core/error.h"
#include "vitrine/core/file_writing.h"

namespace vitrine {
namespace {

/// A file being written; removed again unless it was moved to its place.
class TemporaryFile {
 public:
  explicit TemporaryFile(fs::path path) : file_(std::move(path), WritableFile::Mode::Replace) {}
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() {
    if (!moved_) ::unlink(file_.path().c_str());
  }

  void write(const void* bytes, size_t count) { file_.write(bytes, count); }

  void move_to(const fs::path& target) {
    file_.sync();
    file_.close();
    moved_ = ::rename(file_.path().c_str(), target.c_str()) == 0;
    check(moved_, "write: cannot rename {} to {}: {}", file_.path().string(), target.string(),
          std::strerror(errno));
    sync_folder(target.parent_path());
  }

 private:
  WritableFile file_;
  bool moved_ = false;
};

/// A file that is open for reading.
class ReadableFile {
 public:
  explicit ReadableFile(fs::path path) : path_(std::move(path)) {
    // A pipe that nobody writes to would keep an open that waits for the writer.
    fd_ = ::open(path_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    check(fd_ >= 0, "read: cannot open {}: {}", path_.string(), std::strerror(errno));
    ::fcntl(fd_, F_SETFL, 0);
  }
  ReadableFile(const ReadableFile&) = delete;
  ReadableFile& operator=(const ReadableFile&) = delete;
  ~ReadableFile() { ::close(fd_); }

  /// 0 if it is not known, as that of a pipe.
  uint64_t size() const {
    struct stat status {};
    return ::fstat(fd_, &status) == 0 ? static_cast<uint64_t>(status.st_size) : 0;
  }

  /// How many bytes came; 0 at the end.
  size_t read(char* to, size_t most) const {
    for (;;) {
      const auto count = ::read(fd_, to, most);
      if (count >= 0) return static_cast<size_t>(count);
      check(errno == EINTR, "read: {}: {}", path_.string(), std::strerror(errno));
    }
  }

 private:
  fs::path path_;
  int fd_ = -1;
};

}  // namespace

std::string read_file(const fs::path& path, uint64_t most) {
  std::error_code unknown;  // a path that cannot be followed is reported by the open below
  const auto type = fs::status(path, unknown).type();
  check(type != fs::file_type::directory, "read: {} is a folder, expected a file", path.string());
  check(type != fs::file_type::character && type != fs::file_type::block,
        "read: {} is a device, expected a file", path.string());  // it may have no end
  const ReadableFile file(path);
  const auto refuse = [&](uint64_t bytes) {
    fail("read: {} has {} bytes or more, expected at most {}; is it the right file?", path.string(),
         bytes, most);
  };
  if (file.size() > most) refuse(file.size());
  std::string text;
  for (char block[1 << 16];;) {
    const auto count = file.read(block, sizeof block);
    if (count == 0) return text;
    text.append(block, count);
    if (text.size() > most) refuse(text.size());
  }
}

std::string read_file(const fs::path& path) { return read_file(path, kLargestFile); }

void write_file_atomically(const fs::path& path, const std::function<void(const ByteSink&)>& fill) {
  TemporaryFile file(temporary_path(path));
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
  if (path.empty() || fs::is_directory(path, error)) return;
  const auto parent = path.has_filename() ? path.parent_path() : path.parent_path().parent_path();
  make_folder(parent);
  const bool made = fs::create_directory(path, error);
  check(!error, "write: cannot make folder {}: {}", path.string(), error.message());
  if (made) sync_folder(parent);
}

}  // namespace vitrine
