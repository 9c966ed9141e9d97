#include "tests/support/file_calls.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdarg>
#include <cstdio>

namespace vitrine::test {
namespace {

std::atomic<WatchedFiles*> active = nullptr;

using Answer = WatchedFiles::Answer;

/// The function of the C library.
template <typename Function>
Function* original(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

std::string path_of(int file) {
  char path[PATH_MAX];
  const auto link = "/proc/self/fd/" + std::to_string(file);
  const auto length = ::readlink(link.c_str(), path, sizeof path);
  return length < 0 ? "" : std::string(path, static_cast<size_t>(length));
}
std::string path_of(const char* path) { return path; }

/// Who watches this file; null if nobody does. Nothing is allocated then.
template <typename File>
WatchedFiles* watcher_of(File file) {
  auto* watcher = active.load();
  return watcher != nullptr && watcher->watches(path_of(file)) ? watcher : nullptr;
}

/// Makes a call on a file, or lets it fail.
template <typename File, typename Make, typename Describe>
int watched(File file, const Make& make, const Describe& describe) {
  auto* watcher = watcher_of(file);
  if (watcher == nullptr) return make();
  if (watcher->next() != Answer::Make) return -1;
  const int result = make();
  if (result >= 0) watcher->note(describe());
  return result;
}

}  // namespace

WatchedFiles::WatchedFiles(const fs::path& folder, const FileFault& fault)
    : folder_(fs::canonical(folder).string()), fault_(fault) {
  active = this;
}

WatchedFiles::~WatchedFiles() { active = nullptr; }

bool WatchedFiles::watches(const std::string& path) const {
  return path == folder_ || path.starts_with(folder_ + "/");
}

WatchedFiles::Answer WatchedFiles::next() {
  const std::lock_guard lock(mutex_);
  ++count_;
  const bool behind = fault_.lasting && fault_.call > 0 && count_ > fault_.call;
  if (count_ != fault_.call && !behind) return Answer::Make;
  errno = fault_.error;
  return fault_.lasting && !behind ? Answer::MakeHalf : Answer::Fail;
}

void WatchedFiles::note(FileCall call) {
  const std::lock_guard lock(mutex_);
  calls_.push_back(std::move(call));
}

}  // namespace vitrine::test

using vitrine::test::FileCall;
using vitrine::test::original;
using vitrine::test::path_of;
using vitrine::test::watched;
using vitrine::test::watcher_of;
using Answer = vitrine::test::WatchedFiles::Answer;
using Kind = vitrine::test::FileCall::Kind;

extern "C" {

int open(const char* path, int flags, ...) {
  mode_t mode = 0;
  if ((flags & O_CREAT) != 0) {
    va_list more;
    va_start(more, flags);
    mode = va_arg(more, mode_t);
    va_end(more);
  }
  static const auto call = original<int(const char*, int, ...)>("open");
  return watched(
      path, [&] { return call(path, flags, mode); },
      [&] {
        return FileCall{.kind = Kind::Open,
                        .path = path,
                        .for_writing = (flags & O_ACCMODE) != O_RDONLY,
                        .empties = (flags & O_TRUNC) != 0};
      });
}

ssize_t write(int file, const void* bytes, size_t count) {
  static const auto call = original<ssize_t(int, const void*, size_t)>("write");
  auto* watcher = watcher_of(file);
  if (watcher == nullptr) return call(file, bytes, count);
  const auto answer = watcher->next();
  if (answer == Answer::Fail) return -1;
  if (answer == Answer::MakeHalf) return call(file, bytes, count / 2);
  const auto written = call(file, bytes, count);
  if (written > 0)
    watcher->note({.kind = Kind::Write,
                   .path = path_of(file),
                   .bytes = {static_cast<const char*>(bytes), static_cast<size_t>(written)}});
  return written;
}

int fsync(int file) {
  static const auto call = original<int(int)>("fsync");
  return watched(
      file, [&] { return call(file); },
      [&] { return FileCall{.kind = Kind::Sync, .path = path_of(file)}; });
}

/// A file that was only read is closed unseen: its bytes are here already.
int close(int file) {
  static const auto call = original<int(int)>("close");
  const int flags = ::fcntl(file, F_GETFL);
  auto* watcher = flags >= 0 && (flags & O_ACCMODE) != O_RDONLY ? watcher_of(file) : nullptr;
  if (watcher == nullptr) return call(file);
  const auto answer = watcher->next();
  const int error = errno;
  const int result = call(file);
  if (answer == Answer::Make) return result;
  errno = error;
  return -1;
}

int rename(const char* from, const char* to) noexcept {
  static const auto call = original<int(const char*, const char*)>("rename");
  return watched(
      from, [&] { return call(from, to); },
      [&] { return FileCall{.kind = Kind::Rename, .path = from, .target = to}; });
}

int link(const char* from, const char* to) noexcept {
  static const auto call = original<int(const char*, const char*)>("link");
  return watched(
      from, [&] { return call(from, to); },
      [&] { return FileCall{.kind = Kind::Link, .path = from, .target = to}; });
}

int mkdir(const char* path, mode_t mode) noexcept {
  static const auto call = original<int(const char*, mode_t)>("mkdir");
  return watched(
      path, [&] { return call(path, mode); },
      [&] { return FileCall{.kind = Kind::MakeFolder, .path = path}; });
}

int truncate(const char* path, off_t size) noexcept {
  static const auto call = original<int(const char*, off_t)>("truncate");
  return watched(
      path, [&] { return call(path, size); },
      [&] {
        return FileCall{.kind = Kind::Truncate, .path = path, .size = static_cast<size_t>(size)};
      });
}

}  // extern "C"
