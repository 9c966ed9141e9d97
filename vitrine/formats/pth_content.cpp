#include "vitrine/formats/pth_content.h"

#include "vitrine/core/error.h"
#include "vitrine/formats/byte_count.h"
#include "vitrine/formats/pth_legacy.h"
#include "vitrine/formats/stored_zip.h"

namespace vitrine {
namespace {

PthContent read_zip_form(std::string_view bytes, bool check_numbers,
                         const std::function<void(std::string_view)>& done,
                         const std::string& where) {
  constexpr std::string_view kPickle = "data.pkl";
  check(!zip_lists(bytes, "/constants.pkl"),
        "pth: {} is a TorchScript archive, that is a program; save its weights with "
        "torch.save(model.state_dict(), FILE)",
        where);
  const auto entries = read_stored_zip(bytes, where);
  std::string folder;
  const StoredEntry* pickle = nullptr;
  for (const auto& [name, entry] : entries)
    if (name == kPickle || name.ends_with("/" + std::string(kPickle))) {
      check(pickle == nullptr, "pth: {} holds two pickles '{}'", where, kPickle);
      pickle = &entry;
      folder = name.substr(0, name.size() - kPickle.size());
    }
  check(pickle != nullptr, "pth: {} is a zip archive without {}, so torch.save did not write it",
        where, kPickle);
  if (const auto order = entries.find(folder + "byteorder"); order != entries.end())
    check(order->second.bytes == "little", "pth: {} was written by a big-endian machine", where);
  check_crc(folder + std::string(kPickle), *pickle, where);
  PthContent content{.pickle = read_pickle(pickle->bytes, bytes.size(), where), .storages = {}};
  for (const auto& storage : content.pickle.storages) {
    const auto name = folder + "data/" + storage.key;
    const auto found = entries.find(name);
    check(found != entries.end(), "pth: {} lacks '{}'; is the file complete?", where, name);
    const bool fresh = content.storages.emplace(storage.key, found->second.bytes).second;
    if (!fresh || !check_numbers) continue;
    check_crc(name, found->second, where);
    done(found->second.bytes);
  }
  return content;
}

PthContent read_legacy_form(std::string_view bytes, const std::string& where) {
  auto legacy = read_legacy_pth(bytes, where);
  return {std::move(legacy.pickle), std::move(legacy.storages)};
}

}  // namespace

PthContent read_pth_content(std::string_view bytes, bool check_numbers,
                            const std::function<void(std::string_view)>& done,
                            const std::string& where) {
  const bool legacy = is_legacy_pth(bytes);
  check(legacy || bytes.starts_with("PK"),
        "pth: {} does not begin as a file of torch.save does; is it the right file?", where);
  return legacy ? read_legacy_form(bytes, where) : read_zip_form(bytes, check_numbers, done, where);
}

bool lies_inside(const PickledTensor& tensor, int64_t count) {
  const auto elements = byte_count(tensor.shape, /*element_bytes=*/1);
  if (!elements || *elements > static_cast<uint64_t>(count) || tensor.offset > count) return false;
  if (*elements == 0) return true;
  int64_t last = tensor.offset;
  for (size_t d = 0; d < tensor.shape.size(); ++d) {
    if (tensor.shape[d] == 1) continue;
    const auto steps = tensor.shape[d] - 1;
    if (tensor.strides[d] > (count - last) / steps) return false;
    last += steps * tensor.strides[d];
  }
  return last < count;
}

}  // namespace vitrine
