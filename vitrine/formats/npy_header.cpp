#include "vitrine/formats/npy_header.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <utility>

#include "vitrine/core/error.h"
#include "vitrine/formats/byte_count.h"

static_assert(std::endian::native == std::endian::little, "the arrays are read as little-endian");

namespace vitrine {
namespace {

constexpr size_t kVersionAt = 6, kLengthAt = 8;

constexpr std::pair<std::string_view, uint64_t> kNpyElementBytes[] = {
    {"<f2", 2}, {"<f4", 4}, {"<f8", 8}, {"<i4", 4}, {"<i8", 8}, {"|V2", 2}, {"<V2", 2}};

template <typename... Args>
[[noreturn]] void refuse_npy(const std::string& where, fmt::format_string<Args...> text,
                             Args&&... args) {
  fail("npy: {}: {}; write the file again with numpy.savez", where,
       fmt::format(text, std::forward<Args>(args)...));
}

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
        refuse_npy(where_, "the header has an unknown key '{}'", shown(key));
    }
    skip_space();
    if (!rest_.empty() || known != 7) broken();
    return header;
  }

 private:
  static std::string_view shown(std::string_view text) { return text.substr(0, 60); }
  [[noreturn]] void broken() const {
    refuse_npy(where_, "the header is not one of numpy, at '{}'", shown(rest_));
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
        refuse_npy(where_, "the shape holds '{}', expected a size", shown(rest_));
      rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
      result.push_back(size);
      if (result.size() > kMaxDimensions)
        refuse_npy(where_, "it has more than {} dimensions", kMaxDimensions);
    }
    return result;
  }

  std::string_view rest_;
  const std::string& where_;
};

uint64_t npy_element_bytes(const std::string& dtype, const std::string& where) {
  for (const auto& [known, bytes] : kNpyElementBytes)
    if (known == dtype) return bytes;
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

}  // namespace

NpyArray split_npy(std::string_view bytes, const std::string& where) {
  if (!bytes.starts_with(kNpyMagic))
    refuse_npy(where, "it does not begin as an array of numpy does");
  if (bytes.size() < kLengthAt) refuse_npy(where, "truncated in its header");
  const int version = static_cast<unsigned char>(bytes[kVersionAt]);
  if (version < 1 || version > 3)
    refuse_npy(where, "version {} of the format is not known", version);
  const size_t begin = kLengthAt + (version == 1 ? 2 : 4);
  if (bytes.size() < begin) refuse_npy(where, "truncated in its header");
  const auto length = little_endian(bytes.substr(kLengthAt, begin - kLengthAt));
  if (bytes.size() - begin < length) refuse_npy(where, "truncated in its header");
  auto header = NpyHeaderReader(bytes.substr(begin, length), where).read();
  const auto needed = byte_count(header.shape, npy_element_bytes(header.dtype, where));
  if (!needed)
    refuse_npy(where, "{} of shape ({}) does not fit any file", header.dtype,
               fmt::join(header.shape, ", "));
  return {std::move(header), *needed, bytes.substr(begin + length)};
}

void check_npy_size(const NpyArray& array, const std::string& where) {
  if (array.bytes != array.data.size())
    refuse_npy(where, "{} of shape ({}) does not fit its {} bytes", array.header.dtype,
               fmt::join(array.header.shape, ", "), array.data.size());
}

}  // namespace vitrine
