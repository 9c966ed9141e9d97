#include "vitrine/formats/tfjs.h"

#include <torch/torch.h>

#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>

#include "vitrine/core/error.h"
#include "vitrine/formats/byte_count.h"
#include "vitrine/formats/mapped_tensor.h"

namespace vitrine {
namespace {

using Json = nlohmann::json;

constexpr const char* kModelJson = "model.json";
constexpr const char* kManifest = "weightsManifest";
constexpr uint64_t kLongestModelJson = 64 << 20;

constexpr std::pair<std::string_view, torch::ScalarType> kTfjsDtypes[] = {
    {"float32", torch::kFloat32}, {"int32", torch::kInt32},     {"bool", torch::kBool},
    {"uint8", torch::kUInt8},     {"float16", torch::kFloat16}, {"uint16", torch::kInt16}};

fs::path model_json_of(const fs::path& path) {
  return fs::is_directory(path) ? path / kModelJson : path;
}

/// The files of one group of weights as if they were one.
class Shards {
 public:
  Shards(const Json& paths, const fs::path& folder, const std::string& where) : where_(where) {
    for (const auto& path : paths) {
      const fs::path name = path.is_string() ? path.get<std::string>() : "";
      check(!name.empty() && name == name.filename(),
            "tfjs: {}: '{}' is not the name of a file beside it", where, path.dump());
      files_.push_back(std::make_shared<const FileMapping>(folder / name, "tfjs"));
      bytes_left_ += files_.back()->bytes().size();
    }
  }

  uint64_t bytes_left() const { return bytes_left_; }

  /// The next numbers as one row.
  torch::Tensor take(uint64_t bytes, torch::ScalarType dtype, const std::string& name) {
    check(bytes <= bytes_left_, "tfjs: {}: '{}' needs {} bytes, the shards hold {} more", where_,
          name, bytes, bytes_left_);
    bytes_left_ -= bytes;
    while (file_ < files_.size() && at_ == files_[file_]->bytes().size()) next_file();
    if (bytes == 0) return torch::empty({0}, dtype);
    if (files_[file_]->bytes().size() - at_ >= bytes) {
      const auto row =
          mapped_tensor(files_[file_], files_[file_]->bytes().substr(at_, bytes), dtype);
      at_ += bytes;
      return row;
    }
    const auto row = torch::empty({static_cast<int64_t>(bytes / torch::elementSize(dtype))}, dtype);
    auto* to = static_cast<char*>(row.data_ptr());
    while (bytes > 0) {
      const auto part = files_[file_]->bytes().substr(at_, bytes);
      std::memcpy(to, part.data(), part.size());
      files_[file_]->give_back(part);
      to += part.size();
      bytes -= part.size();
      at_ += part.size();
      if (bytes > 0) next_file();
    }
    return row;
  }

 private:
  void next_file() {
    ++file_;
    at_ = 0;
  }

  std::vector<std::shared_ptr<const FileMapping>> files_;
  const std::string& where_;
  size_t file_ = 0, at_ = 0;
  uint64_t bytes_left_ = 0;
};

const Json& entry_of(const Json& object, const char* key, const std::string& what) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  check(object.is_object() && found != object.end(), "tfjs: {} has no '{}'", what, key);
  return *found;
}

torch::ScalarType tfjs_dtype(const Json& entry, const std::string& what) {
  for (const auto& [known, dtype] : kTfjsDtypes)
    if (entry == std::string(known)) return dtype;
  fail("tfjs: {} has dtype {}, which is not known; convert it to float32", what,
       entry.dump().substr(0, 60));
}

std::vector<int64_t> tfjs_shape(const Json& entry, const std::string& what) {
  check(entry.is_array() && entry.size() <= kMaxDimensions, "tfjs: {} has no shape", what);
  std::vector<int64_t> shape;
  for (const auto& size : entry) {
    check(size.is_number_unsigned() && size.get<uint64_t>() < (uint64_t{1} << 62),
          "tfjs: {}: the shape holds {}, expected a size", what, size.dump());
    shape.push_back(size.get<int64_t>());
  }
  return shape;
}

/// Stored numbers as float32: value * scale + min, or halves as they are.
torch::Tensor dequantised(const torch::Tensor& row, const Json& quantisation,
                          const std::string& what) {
  if (row.scalar_type() == torch::kFloat16) return row.to(torch::kFloat32);
  const auto number = [&](const char* key) {
    const auto& entry = entry_of(quantisation, key, what);
    check(entry.is_number(), "tfjs: {}: its {} is not a number", what, key);
    return entry.get<double>();
  };
  // torch 1.13 has no uint16: its bits are read as int16.
  const auto whole = row.scalar_type() == torch::kInt16 ? row.to(torch::kInt32).bitwise_and(0xffff)
                                                        : row.to(torch::kInt32);
  return (whole.to(torch::kFloat64) * number("scale") + number("min")).to(torch::kFloat32);
}

torch::Tensor take_tensor(const Json& entry, Shards& shards, const std::string& name,
                          const std::string& what) {
  const auto shape = tfjs_shape(entry_of(entry, "shape", what), what);
  const auto quantisation = entry.find("quantization");
  const bool quantised = quantisation != entry.end();
  const auto dtype = tfjs_dtype(entry_of(quantised ? *quantisation : entry, "dtype", what), what);
  const auto bytes = byte_count(shape, torch::elementSize(dtype));
  check(bytes.has_value(), "tfjs: {}: the shape ({}) is too large", what, fmt::join(shape, ", "));
  auto row = shards.take(*bytes, dtype, name);
  // Truths other than 0 and 1 are not allowed in C++.
  if (dtype == torch::kBool) row = row.view(torch::kUInt8).ne(0);
  if (quantised) row = dequantised(row, *quantisation, what);
  return row.view(shape);
}

}  // namespace

bool is_tfjs(const fs::path& path) {
  if (fs::is_directory(path)) return fs::is_regular_file(path / kModelJson);
  if (!fs::is_regular_file(path)) return false;
  // The length that a safetensors file begins with may look like a brace, but zeros follow it.
  const FileMapping file(path, "tfjs");
  const auto head = file.bytes().substr(0, sizeof(uint64_t));
  return head.starts_with('{') && head.find('\0') == head.npos;
}

TensorFile load_tfjs(const fs::path& path) {
  const auto model = model_json_of(path);
  const auto where = model.string();
  const FileMapping text(model, "tfjs");
  check(text.bytes().size() <= kLongestModelJson, "tfjs: {} has {} bytes, more than {}", where,
        text.bytes().size(), kLongestModelJson);
  Json json;
  try {
    json = Json::parse(text.bytes());
  } catch (const Json::exception& e) {
    // The message may quote the file at any length.
    fail("tfjs: {} is not valid JSON ({})", where, std::string(e.what()).substr(0, 120));
  }
  TensorFile file;
  const auto& groups = entry_of(json, kManifest, where);
  check(groups.is_array() && !groups.empty(), "tfjs: {}: {} lists no weights", where, kManifest);
  for (const auto& group : groups) {
    Shards shards(entry_of(group, "paths", where), model.parent_path(), where);
    for (const auto& entry : entry_of(group, "weights", where)) {
      const auto& name = entry_of(entry, "name", where);
      check(name.is_string(), "tfjs: {}: {} is not the name of a tensor", where, name.dump());
      const auto known = name.get<std::string>();
      check(file.find(known) == nullptr, "tfjs: {}: '{}' comes twice", where, known);
      file.tensors.emplace_back(
          known, take_tensor(entry, shards, known, fmt::format("{}: '{}'", where, known)));
    }
    check(shards.bytes_left() == 0, "tfjs: {}: {} bytes of the shards belong to no tensor", where,
          shards.bytes_left());
  }
  return file;
}

}  // namespace vitrine
