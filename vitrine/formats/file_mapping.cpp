#include "vitrine/formats/file_mapping.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "vitrine/core/error.h"

namespace vitrine {

FileMapping::FileMapping(const fs::path& path, std::string_view who) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  check(fd >= 0, "{}: cannot open {}: {}", who, path.string(), std::strerror(errno));
  struct stat status {};
  const bool known = ::fstat(fd, &status) == 0;
  const bool regular = known && S_ISREG(status.st_mode);
  size_ = regular ? static_cast<size_t>(status.st_size) : 0;
  void* begin = nullptr;
  if (size_ > 0)
    begin =
        ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, fd, /*from=*/0);
  const int error = errno;
  ::close(fd);
  check(regular, "{}: {} is not a file", who, path.string());
  check(begin != MAP_FAILED, "{}: cannot read {}: {}", who, path.string(), std::strerror(error));
  begin_ = static_cast<char*>(begin);
}

FileMapping::~FileMapping() {
  if (begin_ != nullptr) ::munmap(begin_, size_);
}

void FileMapping::give_back(std::string_view part) const {
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));  // a mapping begins with one
  const auto first = static_cast<size_t>(part.data() - begin_);
  const auto begin = (first + page - 1) / page * page, end = (first + part.size()) / page * page;
  if (begin < end) ::madvise(begin_ + begin, end - begin, MADV_DONTNEED);
}

}  // namespace vitrine
