#include "vitrine/core/archive.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/fuzz/must.h"
#include "tests/fuzz/targets.h"

namespace vitrine::fuzz {
namespace {

/// A file in memory, as the reader wants a path.
class MemoryFile {
 public:
  MemoryFile() : file_(::memfd_create("input", MFD_CLOEXEC)) {}
  void put(std::string_view bytes) const {
    must(::ftruncate(file_, 0) == 0 &&
             ::pwrite(file_, bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()),
         "no memory for the input");
  }
  fs::path path() const { return fmt::format("/proc/self/fd/{}", file_); }

 private:
  int file_;
};

}  // namespace

void archive(std::string_view bytes) {
  static const MemoryFile file;
  file.put(bytes);
  constexpr uint64_t kMost = 1 << 17;
  uint64_t unpacked = 0;
  read_archive(
      file.path(), [](const std::string& name) { return name.size() % 8 != 0; },
      [&](const std::string&, const std::string& content) { unpacked += content.size(); }, kMost);
  must(unpacked <= kMost, "more was unpacked than allowed");
}

}  // namespace vitrine::fuzz
