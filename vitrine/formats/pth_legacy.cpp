#include "vitrine/formats/pth_legacy.h"

#include <cstring>
#include <optional>
#include <utility>

#include "vitrine/core/error.h"

namespace vitrine {
namespace {

using Kind = PickleValue::Kind;

// The number 0x1950a86a20f9469cfc6c as a pickle of protocol 2.
constexpr std::string_view kMagicPickle{"\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.",
                                        15};
constexpr int64_t kVersion = 1001;

constexpr std::pair<std::string_view, uint64_t> kElementBytes[] = {
    {"DoubleStorage", 8}, {"LongStorage", 8},  {"FloatStorage", 4},    {"IntStorage", 4},
    {"HalfStorage", 2},   {"ShortStorage", 2}, {"BFloat16Storage", 2}, {"CharStorage", 1},
    {"ByteStorage", 1},   {"BoolStorage", 1}};

/// The bytes that a storage takes; nothing if its type is unknown or it is too large for any file.
std::optional<uint64_t> storage_bytes(const PickledStorage& storage) {
  for (const auto& [type, bytes] : kElementBytes)
    if (type == storage.type && storage.count <= (int64_t{1} << 60) / 8)
      return static_cast<uint64_t>(storage.count) * bytes;
  return std::nullopt;
}

/// What stands under `key` of a dictionary, if it is a whole number.
std::optional<int64_t> number_under(const Pickle& pickle, std::string_view key) {
  if (pickle.top.kind != Kind::Dictionary) return std::nullopt;
  for (const auto& [known, value] : pickle.dictionaries[static_cast<size_t>(pickle.top.number)])
    if (known.text == key && value.kind == Kind::Whole) return value.number;
  return std::nullopt;
}

}  // namespace

bool is_legacy_pth(std::string_view bytes) { return bytes.starts_with(kMagicPickle); }

LegacyPth read_legacy_pth(std::string_view bytes, const std::string& where) {
  auto rest = bytes.substr(kMagicPickle.size());
  const auto next_pickle = [&] {
    auto pickle = read_pickle(rest, bytes.size(), where);
    rest.remove_prefix(pickle.length);
    return pickle;
  };
  const auto version = next_pickle();
  check(version.top.kind == Kind::Whole && version.top.number == kVersion,
        "pth: {} is of version {} of torch.save, {} is known", where, version.top.number, kVersion);
  check(number_under(next_pickle(), "little_endian") == 1,
        "pth: {} was not written by a little-endian machine", where);
  LegacyPth file{.pickle = next_pickle(), .storages = {}};
  std::map<std::string_view, const PickledStorage*> known;
  for (const auto& storage : file.pickle.storages) known.emplace(storage.key, &storage);
  const auto keys = next_pickle();
  check(keys.top.kind == Kind::Sequence, "pth: {} has no list of storages", where);
  for (const auto& key : keys.sequences[static_cast<size_t>(keys.top.number)]) {
    const auto found = known.find(key.text);
    check(key.kind == Kind::Text && found != known.end(),
          "pth: {} holds a storage '{}' that no tensor uses", where, key.text.substr(0, 60));
    const auto size = storage_bytes(*found->second);
    check(size.has_value(), "pth: {}: storage '{}' holds {} numbers of {}, which is not known",
          where, key.text, found->second->count, found->second->type);
    int64_t count = 0;
    check(rest.size() >= sizeof count && rest.size() - sizeof count >= *size,
          "pth: {} is cut short: storage '{}' needs {} bytes, {} are left; fetch it again", where,
          key.text, *size, rest.size());
    std::memcpy(&count, rest.data(), sizeof count);
    check(count == found->second->count, "pth: {}: storage '{}' holds {} numbers instead of {}",
          where, key.text, count, found->second->count);
    const bool fresh = file.storages.emplace(key.text, rest.substr(sizeof count, *size)).second;
    check(fresh, "pth: {}: storage '{}' comes twice", where, key.text);
    rest.remove_prefix(sizeof count + *size);
  }
  for (const auto& [key, storage] : known)
    check(file.storages.contains(std::string(key)), "pth: {} lacks the numbers of storage '{}'",
          where, key);
  return file;
}

}  // namespace vitrine
