#include "vitrine/formats/stored_zip.h"

#include <isa-l/crc.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <vector>

#include "vitrine/core/error.h"

static_assert(std::endian::native == std::endian::little, "zip archives are little-endian");

namespace vitrine {
namespace {

// "PKWARE's APPNOTE" names these records; sizes are those of their fixed parts.
constexpr std::string_view kEndSignature{"PK\5\6", 4}, kEnd64Signature{"PK\6\6", 4},
    kEnd64LocatorSignature{"PK\6\7", 4}, kCentralSignature{"PK\1\2", 4},
    kLocalSignature{"PK\3\4", 4};
constexpr size_t kEndBytes = 22, kEnd64Bytes = 56, kEnd64LocatorBytes = 20, kCentralBytes = 46,
                 kLocalBytes = 30, kLongestComment = 65535;
constexpr uint16_t kStored = 0, kEncrypted = 1, kZip64Field = 1;
constexpr uint32_t kSeeZip64 = 0xffffffff;

template <typename T>
T number_at(std::string_view bytes, size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

struct CentralEntry {
  std::string_view name;
  uint16_t flags = 0, method = 0;
  uint32_t crc = 0;
  uint64_t stored = 0, unpacked = 0, header_at = 0;
};

/// The table of contents: nothing where the archive is not what it claims.
class CentralDirectory {
 public:
  explicit CentralDirectory(std::string_view archive) : archive_(archive) {}

  std::optional<std::vector<CentralEntry>> read() const {
    uint64_t begin = 0, size = 0;
    if (!find(begin, size)) return std::nullopt;
    if (begin > archive_.size() || size > archive_.size() - begin) return std::nullopt;
    auto rest = archive_.substr(begin, size);
    std::vector<CentralEntry> entries;
    while (!rest.empty()) {
      CentralEntry entry;
      if (!take(rest, entry)) return std::nullopt;
      entries.push_back(entry);
    }
    return entries;
  }

 private:
  bool find(uint64_t& begin, uint64_t& size) const {
    if (archive_.size() < kEndBytes) return false;
    const auto tail_at = archive_.size() - std::min(archive_.size(), kEndBytes + kLongestComment);
    const auto tail = archive_.substr(tail_at);
    const auto at = tail.rfind(kEndSignature, tail.size() - kEndBytes);
    if (at == tail.npos) return false;
    begin = number_at<uint32_t>(tail, at + 16);
    size = number_at<uint32_t>(tail, at + 12);
    const auto end_at = tail_at + at;
    if (begin != kSeeZip64 && size != kSeeZip64) return true;
    if (end_at < kEnd64LocatorBytes) return false;
    const auto locator = archive_.substr(end_at - kEnd64LocatorBytes, kEnd64LocatorBytes);
    if (!locator.starts_with(kEnd64LocatorSignature)) return false;
    const auto end64_at = number_at<uint64_t>(locator, 8);
    if (end64_at > archive_.size() || archive_.size() - end64_at < kEnd64Bytes) return false;
    const auto end64 = archive_.substr(end64_at, kEnd64Bytes);
    if (!end64.starts_with(kEnd64Signature)) return false;
    size = number_at<uint64_t>(end64, 40);
    begin = number_at<uint64_t>(end64, 48);
    return true;
  }

  static bool take(std::string_view& rest, CentralEntry& entry) {
    if (rest.size() < kCentralBytes || !rest.starts_with(kCentralSignature)) return false;
    entry.flags = number_at<uint16_t>(rest, 8);
    entry.method = number_at<uint16_t>(rest, 10);
    entry.crc = number_at<uint32_t>(rest, 16);
    entry.stored = number_at<uint32_t>(rest, 20);
    entry.unpacked = number_at<uint32_t>(rest, 24);
    entry.header_at = number_at<uint32_t>(rest, 42);
    const size_t name = number_at<uint16_t>(rest, 28), extra = number_at<uint16_t>(rest, 30),
                 comment = number_at<uint16_t>(rest, 32);
    if (rest.size() - kCentralBytes < name + extra + comment) return false;
    entry.name = rest.substr(kCentralBytes, name);
    if (!take_zip64(rest.substr(kCentralBytes + name, extra), entry)) return false;
    rest.remove_prefix(kCentralBytes + name + extra + comment);
    return true;
  }

  /// Numbers that do not fit 32 bits stand in an extra field, in this order.
  static bool take_zip64(std::string_view extra, CentralEntry& entry) {
    while (extra.size() >= 4) {
      const auto id = number_at<uint16_t>(extra, 0);
      const size_t length = number_at<uint16_t>(extra, 2);
      if (extra.size() - 4 < length) return false;
      auto field = extra.substr(4, length);
      extra.remove_prefix(4 + length);
      if (id != kZip64Field) continue;
      for (auto* value : {&entry.unpacked, &entry.stored, &entry.header_at}) {
        if (*value != kSeeZip64) continue;
        if (field.size() < sizeof *value) return false;
        *value = number_at<uint64_t>(field, 0);
        field.remove_prefix(sizeof *value);
      }
    }
    return true;
  }

  std::string_view archive_;
};

/// The bytes of an entry, behind its local header; nothing if they would lie outside.
std::optional<std::string_view> content_of(std::string_view archive, const CentralEntry& entry) {
  if (entry.header_at > archive.size() || archive.size() - entry.header_at < kLocalBytes)
    return std::nullopt;
  const auto rest = archive.substr(entry.header_at);
  if (!rest.starts_with(kLocalSignature)) return std::nullopt;
  const size_t before = kLocalBytes + number_at<uint16_t>(rest, 26) + number_at<uint16_t>(rest, 28);
  if (rest.size() < before || rest.size() - before < entry.stored) return std::nullopt;
  return rest.substr(before, entry.stored);
}

/// Entries that share bytes are how a small archive claims to be a large one.
void check_no_overlap(const std::map<std::string, StoredEntry>& entries, const std::string& where) {
  std::vector<std::pair<std::string_view, const std::string*>> parts;
  for (const auto& [name, entry] : entries)
    if (!entry.bytes.empty()) parts.emplace_back(entry.bytes, &name);
  std::sort(parts.begin(), parts.end(),
            [](const auto& a, const auto& b) { return a.first.data() < b.first.data(); });
  for (size_t i = 1; i < parts.size(); ++i)
    check(parts[i - 1].first.data() + parts[i - 1].first.size() <= parts[i].first.data(),
          "zip: {}: '{}' and '{}' overlap; fetch the file again from its source", where,
          *parts[i - 1].second, *parts[i].second);
}

}  // namespace

std::map<std::string, StoredEntry> read_stored_zip(std::string_view archive,
                                                   const std::string& where) {
  const auto listed = CentralDirectory(archive).read();
  check(listed.has_value(),
        "zip: {} has no table of contents at its end: it is cut short or damaged; fetch it again",
        where);
  std::map<std::string, StoredEntry> entries;
  for (const auto& entry : *listed) {
    std::string name(entry.name);
    check((entry.flags & kEncrypted) == 0, "zip: {}: '{}' is encrypted", where, name);
    check(entry.method == kStored && entry.stored == entry.unpacked,
          "zip: {}: '{}' is compressed ({} to {} bytes); torch.save stores tensors as they are, so "
          "unpack the archive and zip it again with `zip -0`",
          where, name, entry.stored, entry.unpacked);
    const auto content = content_of(archive, entry);
    check(content.has_value(), "zip: {}: '{}' of {} bytes lies outside of the file; fetch it again",
          where, name, entry.stored);
    const bool fresh = entries.emplace(name, StoredEntry{*content, entry.crc}).second;
    check(fresh, "zip: {}: '{}' comes twice; fetch the file again from its source", where, name);
  }
  check_no_overlap(entries, where);
  return entries;
}

void check_crc(const std::string& name, const StoredEntry& entry, const std::string& where) {
  const auto crc = crc32_gzip_refl(
      /*init_crc=*/0, reinterpret_cast<const unsigned char*>(entry.bytes.data()),
      entry.bytes.size());
  check(crc == entry.crc,
        "zip: {}: '{}' is damaged: its CRC-32 is {:08x} instead of {:08x}; fetch the file again",
        where, name, crc, entry.crc);
}

bool zip_lists(std::string_view archive, std::string_view name_end) {
  const auto listed = CentralDirectory(archive).read();
  return listed && std::any_of(listed->begin(), listed->end(), [&](const CentralEntry& entry) {
           return entry.name.ends_with(name_end);
         });
}

}  // namespace vitrine
