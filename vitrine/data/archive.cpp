#include "vitrine/data/archive.h"

#include <archive.h>
#include <archive_entry.h>

#include <memory>

#include "vitrine/core/error.h"

namespace vitrine {

void read_archive(const fs::path& path, const std::function<bool(const std::string& name)>& wanted,
                  const std::function<void(const std::string& name, std::string bytes)>& take) {
  const std::unique_ptr<archive, int (*)(archive*)> reader(archive_read_new(), archive_read_free);
  archive_read_support_filter_all(reader.get());
  archive_read_support_format_all(reader.get());
  const auto need = [&](la_ssize_t result) {
    if (result >= ARCHIVE_WARN) return;
    const char* why = archive_error_string(reader.get());
    fail("archive: {} is broken or cut short: {}", path.string(), why ? why : "unknown format");
  };
  check(fs::exists(path), "archive: {} does not exist", path.string());
  constexpr size_t kBlock = 1 << 16;
  need(archive_read_open_filename(reader.get(), path.c_str(), kBlock));
  archive_entry* entry = nullptr;
  for (;;) {
    const int result = archive_read_next_header(reader.get(), &entry);
    if (result == ARCHIVE_EOF) return;
    need(result);
    const auto name = fs::path(archive_entry_pathname(entry)).filename().string();
    if (!wanted(name)) continue;
    std::string bytes(archive_entry_size(entry), '\0');
    size_t done = 0;
    while (done < bytes.size()) {
      const auto count = archive_read_data(reader.get(), bytes.data() + done, bytes.size() - done);
      need(count);
      check(count > 0, "archive: {} is cut short in {}", path.string(), name);
      done += count;
    }
    take(name, std::move(bytes));
  }
}

}  // namespace vitrine
