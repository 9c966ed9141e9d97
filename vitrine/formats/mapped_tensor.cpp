#include "vitrine/formats/mapped_tensor.h"

#include <torch/torch.h>

#include <cstring>

namespace vitrine {
namespace {

using FileReference = std::shared_ptr<const FileMapping>;

void drop_reference(void* reference) { delete static_cast<FileReference*>(reference); }

}  // namespace

torch::Tensor mapped_tensor(const FileReference& file, std::string_view part,
                            torch::ScalarType dtype) {
  const auto bytes = torch::elementSize(dtype);
  const auto count = static_cast<int64_t>(part.size() / bytes);
  if (count == 0) return torch::empty({0}, dtype);
  if (reinterpret_cast<uintptr_t>(part.data()) % bytes != 0) {
    auto copy = torch::empty({count}, dtype);
    std::memcpy(copy.data_ptr(), part.data(), copy.nbytes());
    file->give_back(part);
    return copy;
  }
  at::DataPtr data(const_cast<char*>(part.data()), new FileReference(file), drop_reference,
                   torch::kCPU);
  const torch::Storage storage(torch::Storage::use_byte_size_t(), count * bytes, std::move(data),
                               /*allocator=*/nullptr, /*resizable=*/false);
  return torch::empty({0}, dtype).set_(storage, /*storage_offset=*/0, {count}, {1});
}

bool is_mapped(const torch::Tensor& tensor) {
  return tensor.device().is_cpu() && tensor.has_storage() &&
         tensor.storage().data_ptr().get_deleter() == drop_reference;
}

void give_back(const torch::Tensor& tensor) {
  if (!is_mapped(tensor) || !tensor.is_contiguous()) return;
  (*static_cast<FileReference*>(tensor.storage().data_ptr().get_context()))
      ->give_back({static_cast<const char*>(tensor.data_ptr()), tensor.nbytes()});
}

}  // namespace vitrine
