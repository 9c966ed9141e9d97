#include "vitrine/formats/pth.h"

#include <torch/torch.h>

#include <cstring>
#include <map>
#include <memory>
#include <set>

#include "vitrine/core/error.h"
#include "vitrine/formats/byte_count.h"
#include "vitrine/formats/mapped_tensor.h"
#include "vitrine/formats/pth_content.h"

namespace vitrine {
namespace {

using Kind = PickleValue::Kind;
using Items = std::vector<std::pair<PickleValue, PickleValue>>;

// The order of timm: the moving average of the weights is the one to use.
constexpr std::string_view kWrappers[] = {"state_dict_ema", "model_ema", "state_dict", "model"};
constexpr std::string_view kParallel = "module.";
// Tied weights are stored once and named twice.
constexpr uint64_t kMostNames = 2;

constexpr std::pair<std::string_view, torch::ScalarType> kStorageTypes[] = {
    {"DoubleStorage", torch::kFloat64}, {"FloatStorage", torch::kFloat32},
    {"HalfStorage", torch::kFloat16},   {"BFloat16Storage", torch::kBFloat16},
    {"LongStorage", torch::kInt64},     {"IntStorage", torch::kInt32},
    {"ShortStorage", torch::kInt16},    {"CharStorage", torch::kInt8},
    {"ByteStorage", torch::kUInt8},     {"BoolStorage", torch::kBool}};

/// The tensors of a state dict by name.
class StateDict {
 public:
  StateDict(std::shared_ptr<const FileMapping> file, PthContent content, std::string where)
      : file_(std::move(file)), content_(std::move(content)), where_(std::move(where)) {}

  NamedTensors read() {
    NamedTensors tensors;
    std::set<std::string> names;
    uint64_t bytes = 0;
    for (const auto& [key, value] : find_items()) {
      if (key.kind != Kind::Text) continue;
      const std::string name(key.text);
      check(value.kind != Kind::Object && value.kind != Kind::Name,
            "pth: {}: '{}' is a {}, not a tensor; save the weights with "
            "torch.save(model.state_dict(), FILE)",
            where_, name, name_of(value));
      if (value.kind != Kind::Tensor) continue;
      tensors.emplace_back(name, tensor(name, value));
      check(names.insert(name).second, "pth: {}: tensor '{}' comes twice", where_, name);
      bytes += tensors.back().second.nbytes();
      check(bytes <= kMostNames * file_->bytes().size(),
            "pth: {}: its tensors overlap so often that they are more than {} times the file's {} "
            "bytes",
            where_, kMostNames, file_->bytes().size());
    }
    check(!tensors.empty(), "pth: {} holds no tensors by name; save {} with torch.save", where_,
          "model.state_dict()");
    drop_parallel(tensors);
    return tensors;
  }

 private:
  /// What an object or a name is called; "" of anything else.
  std::string_view name_of(const PickleValue& value) const {
    const bool named = value.kind == Kind::Object || value.kind == Kind::Name;
    return named ? content_.pickle.names[static_cast<size_t>(value.number)] : std::string_view();
  }
  const Items& items_of(const PickleValue& value) const {
    return content_.pickle.dictionaries[static_cast<size_t>(value.number)];
  }
  static bool has_tensor(const Items& items) {
    return std::any_of(items.begin(), items.end(),
                       [](const auto& item) { return item.second.kind == Kind::Tensor; });
  }

  const Items& find_items() const {
    const auto& top = content_.pickle.top;
    check(top.kind != Kind::Object,
          "pth: {} holds a whole {}, which only the program that wrote it can read; save its "
          "weights with torch.save(model.state_dict(), FILE)",
          where_, name_of(top));
    check(top.kind == Kind::Dictionary, "pth: {} holds no dictionary of tensors", where_);
    const auto& items = items_of(top);
    for (const auto wrapper : kWrappers)
      for (const auto& [key, value] : items)
        if (key.kind == Kind::Text && key.text == wrapper) {
          check(value.kind != Kind::Object, "pth: {}: '{}' is a {}, not a state dict", where_,
                wrapper, name_of(value));
          if (value.kind == Kind::Dictionary && has_tensor(items_of(value))) return items_of(value);
        }
    return items;
  }

  /// All the numbers of a storage as one row.
  torch::Tensor numbers(const std::string& name, const PickledStorage& storage) const {
    const auto* type = std::find_if(std::begin(kStorageTypes), std::end(kStorageTypes),
                                    [&](const auto& known) { return known.first == storage.type; });
    check(type != std::end(kStorageTypes),
          "pth: {}: tensor '{}' is stored as {}, which is not known; convert it to float32 first",
          where_, name, storage.type);
    const auto bytes = content_.storages.at(storage.key);
    const auto needed = byte_count({storage.count}, torch::elementSize(type->second));
    check(needed == bytes.size(),
          "pth: {}: tensor '{}': {} numbers of {} do not fit the {} bytes of storage '{}'", where_,
          name, storage.count, storage.type, bytes.size(), storage.key);
    auto row = mapped_tensor(file_, bytes, type->second);
    // A damaged file may hold truths other than 0 and 1, which C++ does not allow.
    if (type->second == torch::kBool) row = row.view(torch::kUInt8).ne(0);
    if (storage.view_at < 0) return row;
    check(storage.view_at <= storage.count && storage.view_count <= storage.count - storage.view_at,
          "pth: {}: tensor '{}': a view of {} numbers from {} lies outside of a storage of {}",
          where_, name, storage.view_count, storage.view_at, storage.count);
    return row.narrow(0, storage.view_at, storage.view_count);
  }

  torch::Tensor tensor(const std::string& name, const PickleValue& value) {
    const auto& pickled = content_.pickle.tensors[static_cast<size_t>(value.number)];
    auto& row = rows_[pickled.storage];
    if (!row.defined())
      row = numbers(name, content_.pickle.storages[static_cast<size_t>(pickled.storage)]);
    check(lies_inside(pickled, row.numel()),
          "pth: {}: tensor '{}' of shape ({}), strides ({}) and offset {} does not fit a storage "
          "of {} numbers",
          where_, name, fmt::join(pickled.shape, ", "), fmt::join(pickled.strides, ", "),
          pickled.offset, row.numel());
    return row.as_strided(pickled.shape, pickled.strides, row.storage_offset() + pickled.offset);
  }

  static void drop_parallel(NamedTensors& tensors) {
    for (const auto& [name, tensor] : tensors)
      if (!name.starts_with(kParallel)) return;
    for (auto& [name, tensor] : tensors) name.erase(0, kParallel.size());
  }

  std::shared_ptr<const FileMapping> file_;
  PthContent content_;
  std::string where_;
  std::map<int64_t, torch::Tensor> rows_;  // by storage
};

}  // namespace

TensorFile load_pth(const fs::path& path, TensorContent content) {
  const auto file = std::make_shared<const FileMapping>(path, "pth");
  const auto where = path.string();
  const auto give_back = [&](std::string_view part) { file->give_back(part); };
  auto read = read_pth_content(file->bytes(), content == TensorContent::Values, give_back, where);
  return {.tensors = StateDict(file, std::move(read), where).read(), .metadata = {}};
}

}  // namespace vitrine
