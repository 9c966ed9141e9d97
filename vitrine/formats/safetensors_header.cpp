#include "vitrine/formats/safetensors_header.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>
#include <utility>

#include "vitrine/core/error.h"
#include "vitrine/formats/byte_count.h"

static_assert(std::endian::native == std::endian::little, "safetensors files are little-endian");

namespace vitrine {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kMetadata = "__metadata__";
constexpr std::string_view kOwnPrefix = "vitrine.";
constexpr std::string_view kChecksumKey = "vitrine.xxh3";
constexpr std::string_view kFormatKey = "vitrine.format";
constexpr std::string_view kFormat = "1";
constexpr std::string_view kRemedy = "use an earlier checkpoint or fetch the file again";
constexpr uint64_t kAlignment = 8;
// The reference library's limit.
constexpr uint64_t kLongestHeader = 100'000'000;
// The header, one tensor's entry, its shape.
constexpr int kDeepest = 3;
constexpr int64_t kLongestList = 1024;

/// Throws the `Error` of a file that cannot be what it claims.
template <typename... Args>
[[noreturn]] void refuse(const fs::path& path, fmt::format_string<Args...> text, Args&&... args) {
  fail("safetensors: {}: {}; {}", path.string(), fmt::format(text, std::forward<Args>(args)...),
       kRemedy);
}

/// JSON in which no object names a key twice, nothing is nested deeper than the format needs and no
/// list is longer (a number takes eight times the memory of its text).
Json parse_strictly(std::string_view text, const fs::path& path) {
  std::vector<std::set<std::string>> open_objects;
  int64_t listed = 0;  // since a list began
  const auto watch = [&](int depth, Json::parse_event_t event, Json& value) {
    using Event = Json::parse_event_t;
    if (event == Event::object_start || event == Event::array_start) {
      if (depth >= kDeepest) refuse(path, "the header is nested deeper than {} levels", kDeepest);
    }
    if (event == Event::array_start) listed = 0;
    if (event == Event::value && ++listed > kLongestList)
      refuse(path, "the header has a list of more than {} numbers", kLongestList);
    if (event == Event::key) listed = 0;
    if (event == Event::object_start) open_objects.emplace_back();
    if (event == Event::object_end) open_objects.pop_back();
    if (event == Event::key) {
      const auto& key = value.get_ref<const std::string&>();
      if (!open_objects.back().insert(key).second) refuse(path, "the header names '{}' twice", key);
    }
    return true;
  };
  try {
    return Json::parse(text, watch);
  } catch (const Json::exception& e) {
    // The text may quote the file at any length.
    refuse(path, "the header is not valid JSON ({})", std::string(e.what()).substr(0, 120));
  }
}

uint64_t needed_bytes(const StoredTensor& tensor, const fs::path& path) {
  const auto count = byte_count(tensor.shape, safetensors_dtype_bytes(tensor.dtype));
  if (!count)
    refuse(path, "tensor '{}': the shape [{}] is too large", tensor.name,
           fmt::join(tensor.shape, ", "));
  return *count;
}

/// The list of whole numbers under `key`.
std::vector<int64_t> read_sizes(const Json& entry, const char* key, const std::string& name,
                                const fs::path& path) {
  const auto found = entry.find(key);
  if (found == entry.end() || !found->is_array())
    refuse(path, "tensor '{}' has no list '{}'", name, key);
  std::vector<int64_t> sizes;
  for (const auto& size : *found) {
    if (!size.is_number_unsigned() ||
        size.get<uint64_t>() > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()))
      refuse(path, "tensor '{}': {} holds {}, expected a size", name, key, size.dump());
    sizes.push_back(size.get<int64_t>());
  }
  return sizes;
}

StoredTensor read_tensor(const std::string& name, const Json& entry, const fs::path& path) {
  if (!entry.is_object()) refuse(path, "tensor '{}' has no dtype, shape and data_offsets", name);
  StoredTensor tensor{.name = name, .dtype = {}, .shape = {}};
  const auto dtype = entry.find("dtype");
  if (dtype == entry.end() || !dtype->is_string()) refuse(path, "tensor '{}' has no dtype", name);
  tensor.dtype = dtype->get<std::string>();
  check(safetensors_dtype_bytes(tensor.dtype) != 0,
        "safetensors: {}: tensor '{}' has dtype '{}', which is not known; convert it to one of "
        "F64 F32 F16 BF16 I64 I32 I16 I8 U8 BOOL",
        path.string(), name, tensor.dtype);
  tensor.shape = read_sizes(entry, "shape", name, path);
  if (tensor.shape.size() > kMaxDimensions)
    refuse(path, "tensor '{}' has {} dimensions, more than {}", name, tensor.shape.size(),
           kMaxDimensions);
  const auto offsets = read_sizes(entry, "data_offsets", name, path);
  if (offsets.size() != 2 || offsets[0] > offsets[1])
    refuse(path, "tensor '{}': data_offsets [{}] are not a begin and an end", name,
           fmt::join(offsets, ", "));
  tensor.begin = static_cast<uint64_t>(offsets[0]);
  tensor.end = static_cast<uint64_t>(offsets[1]);
  const uint64_t needed = needed_bytes(tensor, path);
  if (tensor.end - tensor.begin != needed)
    refuse(path, "tensor '{}': data_offsets [{}] span {} bytes, but {} [{}] needs {}", name,
           fmt::join(offsets, ", "), tensor.end - tensor.begin, tensor.dtype,
           fmt::join(tensor.shape, ", "), needed);
  return tensor;
}

/// Every byte of the data belongs to exactly one tensor.
void check_places(std::vector<StoredTensor>& tensors, uint64_t data_begin, uint64_t file_bytes,
                  const fs::path& path) {
  std::sort(tensors.begin(), tensors.end(), [](const auto& a, const auto& b) {
    return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
  });
  uint64_t end = 0;
  for (const auto& tensor : tensors) {
    if (tensor.begin != end)
      refuse(path, "tensor '{}' begins at byte {} of the data, the one before it ends at {}",
             tensor.name, tensor.begin, end);
    end = tensor.end;
  }
  // `end` is below 2^63 and data_begin is small: no overflow.
  if (data_begin + end > file_bytes)
    refuse(path, "truncated: {} of {} bytes", file_bytes, data_begin + end);
  if (data_begin + end < file_bytes)
    refuse(path, "{} bytes follow the last tensor", file_bytes - data_begin - end);
}

/// `"vitrine.xxh3":"`, as our writer puts it before the digits. It cannot stand inside another
/// string, where its quotes would be escaped.
std::string checksum_lead() { return fmt::format("\"{}\":\"", kChecksumKey); }

void read_metadata(const Json& entries, SafetensorsHeader& header, std::string_view bytes,
                   const fs::path& path) {
  if (!entries.is_object()) refuse(path, "{} is not an object", kMetadata);
  for (const auto& [key, value] : entries.items()) {
    if (!value.is_string()) refuse(path, "{}: '{}' is not a string", kMetadata, key);
    header.metadata[key] = value.get<std::string>();
  }
  const bool ours = std::any_of(header.metadata.begin(), header.metadata.end(),
                                [](const auto& e) { return e.first.starts_with(kOwnPrefix); });
  if (!ours) return;
  header.checksum = header.metadata[std::string(kChecksumKey)];
  const auto lead = checksum_lead();
  const auto lead_at = bytes.find(lead);
  header.checksum_at = lead_at + lead.size();
  if (header.checksum.size() != kChecksumDigits || lead_at == std::string_view::npos ||
      bytes.substr(header.checksum_at, kChecksumDigits) != header.checksum)
    refuse(path, "the checksum {} is missing or mangled: the file is damaged", kChecksumKey);
  header.metadata.erase(std::string(kChecksumKey));
  header.metadata.erase(std::string(kFormatKey));
}

}  // namespace

uint64_t safetensors_dtype_bytes(std::string_view dtype) {
  if (dtype == "F64" || dtype == "I64") return 8;
  if (dtype == "F32" || dtype == "I32") return 4;
  if (dtype == "F16" || dtype == "BF16" || dtype == "I16") return 2;
  if (dtype == "I8" || dtype == "U8" || dtype == "BOOL") return 1;
  return 0;
}

void lay_out_safetensors(SafetensorsHeader& header, const fs::path& path) {
  auto& tensors = header.tensors;
  // The format allows no gaps: the widest elements go first, so that all are aligned.
  std::sort(tensors.begin(), tensors.end(), [](const auto& a, const auto& b) {
    return std::make_pair(safetensors_dtype_bytes(b.dtype), std::string_view(a.name)) <
           std::make_pair(safetensors_dtype_bytes(a.dtype), std::string_view(b.name));
  });
  uint64_t end = 0;
  for (auto& tensor : tensors) {
    tensor.begin = end;
    tensor.end = end += needed_bytes(tensor, path);
  }
}

std::string write_safetensors_header(SafetensorsHeader& header, const fs::path& path) {
  Json metadata(header.metadata);
  metadata[std::string(kFormatKey)] = kFormat;
  metadata[std::string(kChecksumKey)] = std::string(kChecksumDigits, '0');
  Json json;
  json[std::string(kMetadata)] = metadata;
  for (const auto& t : header.tensors) {
    check(t.name != kMetadata, "safetensors: {}: a tensor cannot be called '{}'", path.string(),
          t.name);
    check(!json.contains(t.name), "safetensors: {}: two tensors are called '{}'", path.string(),
          t.name);
    json[t.name] = {{"dtype", t.dtype}, {"shape", t.shape}, {"data_offsets", {t.begin, t.end}}};
  }
  std::string text;
  try {
    text = json.dump();
  } catch (const Json::exception& e) {
    fail("safetensors: {}: a name or a metadata text is not UTF-8 ({})", path.string(), e.what());
  }
  text.append((kAlignment - text.size() % kAlignment) % kAlignment, ' ');
  const uint64_t length = text.size();
  check(length <= kLongestHeader, "safetensors: {}: the header has {} bytes, more than {}",
        path.string(), length, kLongestHeader);
  std::string bytes(kLengthBytes, '\0');
  std::memcpy(bytes.data(), &length, kLengthBytes);
  bytes += text;
  const auto lead = checksum_lead();
  header.checksum_at = bytes.find(lead) + lead.size();
  return bytes;
}

uint64_t safetensors_header_length(std::string_view first_bytes, uint64_t file_bytes,
                                   const fs::path& path) {
  if (first_bytes.size() < kLengthBytes)
    refuse(path, "truncated: {} of at least {} bytes", file_bytes, kLengthBytes);
  uint64_t length = 0;
  std::memcpy(&length, first_bytes.data(), kLengthBytes);
  if (length > kLongestHeader)
    refuse(path, "not a safetensors file: its header would have {} bytes, more than {}", length,
           kLongestHeader);
  if (kLengthBytes + length > file_bytes)
    refuse(path, "truncated: {} of at least {} bytes", file_bytes, kLengthBytes + length);
  return length;
}

SafetensorsHeader parse_safetensors_header(std::string_view bytes, uint64_t file_bytes,
                                           const fs::path& path) {
  const auto text = bytes.substr(kLengthBytes);
  if (!text.starts_with('{'))
    refuse(path, "not a safetensors file: its header does not begin with '{{'");
  const auto json = parse_strictly(text, path);
  SafetensorsHeader header;
  for (const auto& [name, entry] : json.items()) {
    if (name == kMetadata)
      read_metadata(entry, header, bytes, path);
    else
      header.tensors.push_back(read_tensor(name, entry, path));
  }
  check_places(header.tensors, bytes.size(), file_bytes, path);
  return header;
}

}  // namespace vitrine
