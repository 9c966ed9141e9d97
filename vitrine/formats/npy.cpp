#include "vitrine/formats/npy.h"

#include <bit>
#include <charconv>
#include <cstring>
#include <utility>
#include <vector>

#include "vitrine/core/error.h"
#include "vitrine/formats/byte_count.h"

static_assert(std::endian::native == std::endian::little, "the arrays are read as little-endian");

namespace vitrine {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr size_t kVersionAt = 6, kLengthAt = 8;
// numpy begins the data at a multiple of this.
constexpr size_t kAlignment = 64;

constexpr std::pair<std::string_view, torch::ScalarType> kNpyDtypes[] = {
    {"<f2", torch::kFloat16}, {"<f4", torch::kFloat32}, {"<f8", torch::kFloat64},
    {"<i4", torch::kInt32},   {"<i8", torch::kInt64},
};

template <typename... Args>
[[noreturn]] void refuse(const std::string& where, fmt::format_string<Args...> text,
                         Args&&... args) {
  fail("npy: {}: {}; write the file again with numpy.savez", where,
       fmt::format(text, std::forward<Args>(args)...));
}

struct NpyHeader {
  std::string dtype;
  bool fortran_order = false;
  std::vector<int64_t> shape;
};

/// Reads the Python literal {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }.
class NpyHeaderReader {
 public:
  NpyHeaderReader(std::string_view text, const std::string& where) : rest_(text), where_(where) {}

  NpyHeader read() {
    NpyHeader header;
    int known = 0;
    for (expect('{'); !accept('}'); accept(',')) {
      const auto key = quoted();
      expect(':');
      if (key == "descr")
        header.dtype = quoted(), known |= 1;
      else if (key == "fortran_order")
        header.fortran_order = truth(), known |= 2;
      else if (key == "shape")
        header.shape = sizes(), known |= 4;
      else
        refuse(where_, "the header has an unknown key '{}'", shown(key));
    }
    skip_space();
    if (!rest_.empty() || known != 7) broken();
    return header;
  }

 private:
  static std::string_view shown(std::string_view text) { return text.substr(0, 60); }
  [[noreturn]] void broken() const {
    refuse(where_, "the header is not one of numpy, at '{}'", shown(rest_));
  }

  void skip_space() { rest_.remove_prefix(std::min(rest_.find_first_not_of(" \n"), rest_.size())); }
  bool accept(char c) {
    skip_space();
    if (rest_.empty() || rest_[0] != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void expect(char c) {
    if (!accept(c)) broken();
  }
  bool accept_word(std::string_view word) {
    skip_space();
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }

  /// A text in quotes; several fields at once ("structured arrays") are not.
  std::string quoted() {
    const char quote = accept('"') ? '"' : '\'';
    if (quote == '\'') expect('\'');
    const auto end = rest_.find(quote);
    if (end == rest_.npos) broken();
    std::string text(rest_.substr(0, end));
    rest_.remove_prefix(end + 1);
    return text;
  }

  bool truth() {
    if (accept_word("True")) return true;
    if (!accept_word("False")) broken();
    return false;
  }

  std::vector<int64_t> sizes() {
    std::vector<int64_t> result;
    for (expect('('); !accept(')'); accept(',')) {
      skip_space();
      int64_t size = 0;
      const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), size);
      if (error != std::errc() || size < 0)
        refuse(where_, "the shape holds '{}', expected a size", shown(rest_));
      rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
      result.push_back(size);
      if (result.size() > kMaxDimensions)
        refuse(where_, "it has more than {} dimensions", kMaxDimensions);
    }
    return result;
  }

  std::string_view rest_;
  const std::string& where_;
};

torch::ScalarType npy_dtype(const std::string& dtype, const std::string& where) {
  for (const auto& [known, type] : kNpyDtypes)
    if (known == dtype) return type;
  // numpy has no name for bfloat16 (of ml_dtypes, as big_vision stores it): two bytes of raw data.
  if (dtype == "|V2" || dtype == "<V2") return torch::kBFloat16;
  fail(
      "npy: {}: dtype '{}' is not known; convert the array to little-endian float16, float32, "
      "float64, int32 or int64 (numpy's astype)",
      where, dtype.substr(0, 60));
}

uint64_t little_endian(std::string_view bytes) {
  uint64_t value = 0;
  std::memcpy(&value, bytes.data(), bytes.size());
  return value;
}

/// An array before its numbers are laid out.
struct NpyArray {
  NpyHeader header;
  torch::ScalarType dtype;
  std::string_view data;
};

NpyArray split_npy(std::string_view bytes, const std::string& where) {
  if (!bytes.starts_with(kMagic)) refuse(where, "it does not begin as an array of numpy does");
  if (bytes.size() < kLengthAt) refuse(where, "truncated in its header");
  const int version = static_cast<unsigned char>(bytes[kVersionAt]);
  if (version < 1 || version > 3) refuse(where, "version {} of the format is not known", version);
  const size_t begin = kLengthAt + (version == 1 ? 2 : 4);
  if (bytes.size() < begin) refuse(where, "truncated in its header");
  const auto length = little_endian(bytes.substr(kLengthAt, begin - kLengthAt));
  if (bytes.size() - begin < length) refuse(where, "truncated in its header");
  auto header = NpyHeaderReader(bytes.substr(begin, length), where).read();
  const auto dtype = npy_dtype(header.dtype, where);
  return {std::move(header), dtype, bytes.substr(begin + length)};
}

}  // namespace

torch::Tensor parse_npy(std::string_view bytes, const std::string& where) {
  auto [header, dtype, data] = split_npy(bytes, where);
  const auto needed = byte_count(header.shape, torch::elementSize(dtype));
  if (needed != data.size())
    refuse(where, "{} of shape ({}) does not fit its {} bytes", header.dtype,
           fmt::join(header.shape, ", "), data.size());
  if (header.fortran_order) std::reverse(header.shape.begin(), header.shape.end());
  auto tensor = torch::empty(header.shape, dtype);
  if (!data.empty()) std::memcpy(tensor.data_ptr(), data.data(), data.size());
  if (!header.fortran_order) return tensor;
  std::vector<int64_t> backwards;
  for (auto d = tensor.dim(); d-- > 0;) backwards.push_back(d);
  return tensor.permute(backwards).contiguous();
}

torch::Tensor parse_npy_shape(std::string_view bytes, const std::string& where) {
  const auto array = split_npy(bytes, where);
  if (!byte_count(array.header.shape, torch::elementSize(array.dtype)))
    refuse(where, "the shape ({}) is too large", fmt::join(array.header.shape, ", "));
  return torch::empty(array.header.shape, torch::dtype(array.dtype).device(torch::kMeta));
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
  std::string header(kMagic);
  header +=
      {'\1', '\0', static_cast<char>(text.size() & 0xff), static_cast<char>(text.size() >> 8)};
  return header + text;
}

}  // namespace vitrine
