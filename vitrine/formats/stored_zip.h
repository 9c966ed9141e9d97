#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace vitrine {

/// An entry of a zip archive that is not compressed: its bytes stand in the archive as they are.
struct StoredEntry {
  std::string_view bytes;
  uint32_t crc = 0;  // CRC-32, as the archive states it
};

/// The entries by name, folders included, of a zip archive in memory. Nothing is copied or
/// unpacked, so an archive can ask for no more memory than its table of contents takes. A
/// compressed or encrypted entry, two entries that overlap or share a name, and an archive that is
/// cut short throw an `Error` that names `where`. Checksums are left to `check_crc`.
std::map<std::string, StoredEntry> read_stored_zip(std::string_view archive,
                                                   const std::string& where);

/// Throws an `Error` if the entry's bytes are not those that were stored.
void check_crc(const std::string& name, const StoredEntry& entry, const std::string& where);

/// Whether the archive's table of contents has an entry whose name ends so; false if it has none or
/// cannot be read.
bool zip_lists(std::string_view archive, std::string_view name_end);

}  // namespace vitrine
