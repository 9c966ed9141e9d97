#include "tests/fuzz/must.h"
#include "tests/fuzz/targets.h"
#include "vitrine/formats/pth_content.h"

namespace vitrine::fuzz {
namespace {

/// Where the last element of a tensor that lies inside stands.
int64_t last_element(const PickledTensor& tensor) {
  int64_t last = tensor.offset;
  for (size_t d = 0; d < tensor.shape.size(); ++d) {
    if (tensor.shape[d] == 0) return tensor.offset - 1;
    last += (tensor.shape[d] - 1) * tensor.strides[d];
  }
  return last;
}

bool points_inside(const Pickle& pickle, const PickleValue& value) {
  const auto index = static_cast<size_t>(value.number);
  switch (value.kind) {
    case PickleValue::Kind::Sequence:
      return index < pickle.sequences.size();
    case PickleValue::Kind::Dictionary:
      return index < pickle.dictionaries.size();
    case PickleValue::Kind::Name:
    case PickleValue::Kind::Object:
      return index < pickle.names.size();
    case PickleValue::Kind::Storage:
      return index < pickle.storages.size();
    case PickleValue::Kind::Tensor:
      return index < pickle.tensors.size();
    default:
      return true;
  }
}

}  // namespace

void pth(std::string_view bytes) {
  const auto content = read_pth_content(
      bytes, /*check_numbers=*/true, [](std::string_view) {}, "input");
  const auto& pickle = content.pickle;
  must(points_inside(pickle, pickle.top), "the value points outside");
  for (const auto& items : pickle.dictionaries)
    for (const auto& [key, value] : items)
      must(points_inside(pickle, key) && points_inside(pickle, value), "an item points outside");
  for (const auto& tensor : pickle.tensors) {
    const auto& storage = pickle.storages.at(static_cast<size_t>(tensor.storage));
    const auto numbers = content.storages.at(storage.key);
    must(numbers.data() >= bytes.data() &&
             numbers.data() + numbers.size() <= bytes.data() + bytes.size(),
         "a storage lies outside");
    const auto count = static_cast<int64_t>(numbers.size());  // of single bytes, the most
    must(!lies_inside(tensor, count) || last_element(tensor) < count, "an element lies outside");
  }
}

}  // namespace vitrine::fuzz
