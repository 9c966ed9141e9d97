#include "vitrine/formats/npy.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "vitrine/core/error.h"
#include "vitrine/formats/npy_header.h"

namespace vitrine {
namespace {

constexpr size_t kLengthAt = 8;
// numpy begins the data at a multiple of this.
constexpr size_t kAlignment = 64;

constexpr std::pair<std::string_view, torch::ScalarType> kNpyDtypes[] = {
    {"<f2", torch::kFloat16}, {"<f4", torch::kFloat32}, {"<f8", torch::kFloat64},
    {"<i4", torch::kInt32},   {"<i8", torch::kInt64},
};

torch::ScalarType npy_dtype(const std::string& dtype) {
  for (const auto& [known, type] : kNpyDtypes)
    if (known == dtype) return type;
  // numpy has no name for bfloat16 (of ml_dtypes, as big_vision stores it): two bytes of raw data.
  return torch::kBFloat16;
}

}  // namespace

torch::Tensor parse_npy(std::string_view bytes, const std::string& where) {
  auto array = split_npy(bytes, where);
  check_npy_size(array, where);
  auto& [header, needed, data] = array;
  if (header.fortran_order) std::reverse(header.shape.begin(), header.shape.end());
  auto tensor = torch::empty(header.shape, npy_dtype(header.dtype));
  if (!data.empty()) std::memcpy(tensor.data_ptr(), data.data(), data.size());
  if (!header.fortran_order) return tensor;
  std::vector<int64_t> backwards;
  for (auto d = tensor.dim(); d-- > 0;) backwards.push_back(d);
  return tensor.permute(backwards).contiguous();
}

torch::Tensor parse_npy_shape(std::string_view bytes, const std::string& where) {
  const auto array = split_npy(bytes, where);
  return torch::empty(array.header.shape,
                      torch::dtype(npy_dtype(array.header.dtype)).device(torch::kMeta));
}

std::string npy_header(const torch::Tensor& tensor, const std::string& where) {
  std::string_view dtype;
  for (const auto& [known, type] : kNpyDtypes)
    if (type == tensor.scalar_type()) dtype = known;
  check(!dtype.empty(), "npy: {}: a tensor of type {} cannot be stored; convert it to float first",
        where, torch::toString(tensor.scalar_type()));
  std::string sizes;
  for (const auto size : tensor.sizes()) sizes += fmt::format("{}, ", size);
  auto text =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", dtype, sizes);
  const auto unpadded = kLengthAt + 2 + text.size() + 1;
  text.append((kAlignment - unpadded % kAlignment) % kAlignment, ' ').append("\n");
  std::string header(kNpyMagic);
  header +=
      {'\1', '\0', static_cast<char>(text.size() & 0xff), static_cast<char>(text.size() >> 8)};
  return header + text;
}

}  // namespace vitrine
