#include "vitrine/formats/tfjs.h"

#include <torch/torch.h>

#include <cstring>
#include <memory>

#include "vitrine/core/error.h"
#include "vitrine/formats/mapped_tensor.h"
#include "vitrine/formats/tfjs_manifest.h"

namespace vitrine {
namespace {

constexpr const char* kModelJson = "model.json";

constexpr std::pair<std::string_view, torch::ScalarType> kTfjsDtypes[] = {
    {"float32", torch::kFloat32}, {"int32", torch::kInt32},     {"bool", torch::kBool},
    {"uint8", torch::kUInt8},     {"float16", torch::kFloat16}, {"uint16", torch::kInt16}};

fs::path model_json_of(const fs::path& path) {
  return fs::is_directory(path) ? path / kModelJson : path;
}

/// The files of one group of weights as if they were one.
class Shards {
 public:
  Shards(const std::vector<std::string>& names, const fs::path& folder, const std::string& where)
      : where_(where) {
    for (const auto& name : names) {
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

torch::ScalarType tfjs_dtype(const std::string& name) {
  for (const auto& [known, dtype] : kTfjsDtypes)
    if (known == name) return dtype;
  TORCH_INTERNAL_ASSERT(false, "a dtype that parse_tfjs_manifest knows is missing: ", name);
}

/// Stored numbers as float32: value * scale + min, or halves as they are.
torch::Tensor dequantised(const torch::Tensor& row, const TfjsTensor& described) {
  if (row.scalar_type() == torch::kFloat16) return row.to(torch::kFloat32);
  // torch 1.13 has no uint16: its bits are read as int16.
  const auto whole = row.scalar_type() == torch::kInt16 ? row.to(torch::kInt32).bitwise_and(0xffff)
                                                        : row.to(torch::kInt32);
  return (whole.to(torch::kFloat64) * described.scale + described.min).to(torch::kFloat32);
}

torch::Tensor take_tensor(const TfjsTensor& described, Shards& shards) {
  const auto dtype = tfjs_dtype(described.dtype);
  auto row = shards.take(described.bytes, dtype, described.name);
  // Truths other than 0 and 1 are not allowed in C++.
  if (dtype == torch::kBool) row = row.view(torch::kUInt8).ne(0);
  if (described.quantised) row = dequantised(row, described);
  return row.view(described.shape);
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
  TensorFile file;
  for (const auto& group : parse_tfjs_manifest(text.bytes(), where)) {
    Shards shards(group.files, model.parent_path(), where);
    for (const auto& tensor : group.tensors)
      file.tensors.emplace_back(tensor.name, take_tensor(tensor, shards));
    check(shards.bytes_left() == 0, "tfjs: {}: {} bytes of the shards belong to no tensor", where,
          shards.bytes_left());
  }
  return file;
}

}  // namespace vitrine
