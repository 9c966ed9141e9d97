#include "vitrine/onnx/constants.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <xxhash.h>

namespace vitrine {
namespace {

const void* storage_address(const torch::Tensor& t) {
  return t.has_storage() ? t.storage().unsafeGetStorageImpl() : nullptr;
}

std::string content_key(const torch::Tensor& t) {
  const auto hash = XXH3_128bits(t.data_ptr(), t.nbytes());
  return fmt::format("{} {} {:x} {:x}", static_cast<int>(t.scalar_type()),
                     fmt::join(t.sizes(), "x"), hash.high64, hash.low64);
}

}  // namespace

ConstantPool::ConstantPool(const torch::nn::Module& model) {
  const auto note = [&](const auto& items) {
    for (const auto& item : items) {
      parameters_[item.value().unsafeGetTensorImpl()] = item.key();
      storages_[storage_address(item.value())] = item.key();
    }
  };
  note(model.named_parameters());
  note(model.named_buffers());
}

int64_t ConstantPool::add(const torch::Tensor& t, const std::string& name) {
  const auto parameter = parameters_.find(t.unsafeGetTensorImpl());
  if (parameter != parameters_.end())
    return put("parameter " + parameter->second, t.detach().contiguous(), parameter->second);
  const auto copy = t.detach().clone(torch::MemoryFormat::Contiguous);
  return put(content_key(copy), copy, name.empty() ? name_of(t) : name);
}

int64_t ConstantPool::put(const std::string& key, const torch::Tensor& t, const std::string& name) {
  const auto [found, is_new] = by_key_.emplace(key, std::ssize(entries_));
  if (is_new) entries_.push_back({t, name});
  return found->second;
}

std::string ConstantPool::name_of(const torch::Tensor& t) const {
  const auto found = storages_.find(storage_address(t));
  return found == storages_.end() ? "constant" : found->second;
}

}  // namespace vitrine
