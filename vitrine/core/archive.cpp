#include "vitrine/core/archive.h"

#include <archive.h>
#include <archive_entry.h>

#include <memory>

#include "vitrine/core/error.h"

namespace vitrine {
namespace {

using Archive = std::unique_ptr<archive, int (*)(archive*)>;

constexpr size_t kBlock = 1 << 16;

std::string reason(archive* a) {
  const char* why = archive_error_string(a);
  return why ? why : "unknown format";
}

la_ssize_t append(archive*, void* to, const void* bytes, size_t count) {
  static_cast<std::string*>(to)->append(static_cast<const char*>(bytes), count);
  return static_cast<la_ssize_t>(count);
}

}  // namespace

void read_archive(const fs::path& path, const std::function<bool(const std::string& name)>& wanted,
                  const std::function<void(const std::string& name, std::string bytes)>& take,
                  uint64_t max_bytes, uint64_t head) {
  const Archive reader(archive_read_new(), archive_read_free);
  // Not all that there are: some start other programs.
  archive_read_support_filter_gzip(reader.get());
  archive_read_support_filter_bzip2(reader.get());
  archive_read_support_filter_xz(reader.get());
  archive_read_support_filter_zstd(reader.get());
  archive_read_support_format_tar(reader.get());
  // By its table of contents, which stands at the end: so a truncated zip is noticed.
  archive_read_support_format_zip_seekable(reader.get());
  const auto need = [&](la_ssize_t result, int least) {
    check(result >= least, "archive: {} is broken or cut short: {}; fetch it again", path.string(),
          reason(reader.get()));
  };
  check(fs::exists(path), "archive: {} does not exist", path.string());
  check(fs::is_regular_file(path), "archive: {} is not a file", path.string());
  need(archive_read_open_filename(reader.get(), path.c_str(), kBlock), ARCHIVE_WARN);
  uint64_t unpacked = 0;
  archive_entry* entry = nullptr;
  for (;;) {
    const int result = archive_read_next_header(reader.get(), &entry);
    if (result == ARCHIVE_EOF) return;
    need(result, ARCHIVE_WARN);
    const char* name = archive_entry_pathname(entry);
    check(name != nullptr, "archive: {} holds a name that cannot be read", path.string());
    const auto count_in = [&](uint64_t bytes) {
      unpacked += bytes;
      check(unpacked <= max_bytes, "archive: {} unpacks to more than {} bytes in {}", path.string(),
            max_bytes, name);
    };
    if (archive_entry_filetype(entry) != AE_IFREG || !wanted(name)) {
      // What is packed must be unpacked to be skipped: here, where it is counted.
      if (archive_filter_code(reader.get(), 0) == ARCHIVE_FILTER_NONE) continue;
      const void* block = nullptr;
      size_t count = 0;
      for (la_int64_t at = 0;;) {
        const auto state = archive_read_data_block(reader.get(), &block, &count, &at);
        if (state == ARCHIVE_EOF) break;
        need(state, ARCHIVE_WARN);
        count_in(count);
      }
      continue;
    }
    std::string bytes;
    // Up to the end, even if the size is known: the checksum is compared there.
    for (std::string block(kBlock, '\0'); bytes.size() < head;) {
      const auto count = archive_read_data(reader.get(), block.data(), block.size());
      need(count, ARCHIVE_OK);  // a wrong checksum is only a warning
      if (count == 0) break;
      count_in(static_cast<uint64_t>(count));
      bytes.append(block, 0, static_cast<size_t>(count));
    }
    const bool cut = bytes.size() >= head;
    if (cut) bytes.resize(head);
    check(
        cut || !archive_entry_size_is_set(entry) || std::ssize(bytes) == archive_entry_size(entry),
        "archive: {} is cut short in {}; fetch it again", path.string(), name);
    take(name, std::move(bytes));
  }
}

void write_zip(const fs::path& path, const std::vector<ArchiveFile>& files) {
  std::string out;
  const Archive writer(archive_write_new(), archive_write_free);
  const auto need = [&](la_ssize_t result) {
    check(result >= ARCHIVE_WARN, "archive: {} cannot be made: {}", path.string(),
          reason(writer.get()));
  };
  need(archive_write_set_format_zip(writer.get()));
  need(archive_write_zip_set_compression_store(writer.get()));
  need(archive_write_set_bytes_per_block(writer.get(), 0));  // or zeros would fill the last block
  need(archive_write_open(writer.get(), &out, nullptr, append, nullptr));
  const std::unique_ptr<archive_entry, void (*)(archive_entry*)> entry(archive_entry_new(),
                                                                       archive_entry_free);
  for (const auto& file : files) {
    int64_t size = 0;
    for (const auto part : file.parts) size += std::ssize(part);
    archive_entry_clear(entry.get());
    archive_entry_set_pathname(entry.get(), file.name.c_str());
    archive_entry_set_filetype(entry.get(), AE_IFREG);
    archive_entry_set_perm(entry.get(), 0644);
    archive_entry_set_size(entry.get(), size);
    need(archive_write_header(writer.get(), entry.get()));
    for (const auto part : file.parts)
      need(archive_write_data(writer.get(), part.data(), part.size()));
  }
  need(archive_write_close(writer.get()));
  write_file_atomically(path, out);
}

}  // namespace vitrine
