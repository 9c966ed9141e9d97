#include "vitrine/formats/safetensors.h"

#include <xxhash.h>

#include <memory>
#include <new>

#include "vitrine/core/error.h"
#include "vitrine/formats/file_mapping.h"
#include "vitrine/formats/mapped_tensor.h"
#include "vitrine/formats/safetensors_header.h"

namespace vitrine {
namespace {

constexpr std::pair<std::string_view, torch::ScalarType> kDtypes[] = {
    {"F64", torch::kFloat64},   {"F32", torch::kFloat32}, {"F16", torch::kFloat16},
    {"BF16", torch::kBFloat16}, {"I64", torch::kInt64},   {"I32", torch::kInt32},
    {"I16", torch::kInt16},     {"I8", torch::kInt8},     {"U8", torch::kUInt8},
    {"BOOL", torch::kBool}};

torch::ScalarType torch_dtype(std::string_view name) {
  for (const auto& [known, dtype] : kDtypes)
    if (known == name) return dtype;
  TORCH_INTERNAL_ASSERT(
      false, "a dtype that parse_safetensors_header knows is missing: ", std::string(name));
}

std::string stored_dtype(const torch::Tensor& tensor, const std::string& name,
                         const fs::path& path) {
  for (const auto& [stored, dtype] : kDtypes)
    if (dtype == tensor.scalar_type()) return std::string(stored);
  fail("safetensors: {}: tensor '{}' is of type {}, which the format cannot hold; convert it first",
       path.string(), name, torch::toString(tensor.scalar_type()));
}

class Checksum {
 public:
  Checksum() : state_(XXH3_createState()) {
    if (state_ == nullptr) throw std::bad_alloc();
    XXH3_64bits_reset(state_.get());
  }
  void add(const void* bytes, size_t count) { XXH3_64bits_update(state_.get(), bytes, count); }
  void add(const torch::Tensor& tensor) { add(tensor.data_ptr(), tensor.nbytes()); }
  std::string digits() const {
    return fmt::format("{:0{}x}", XXH3_64bits_digest(state_.get()), kChecksumDigits);
  }

 private:
  struct Free {
    void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
  };
  std::unique_ptr<XXH3_state_t, Free> state_;
};

/// The length and the JSON that a file begins with.
std::string_view header_bytes(std::string_view file, const fs::path& path) {
  const auto length = safetensors_header_length(file.substr(0, kLengthBytes), file.size(), path);
  return file.substr(0, kLengthBytes + length);
}

}  // namespace

const torch::Tensor* TensorFile::find(std::string_view name) const {
  for (const auto& [known, tensor] : tensors)
    if (known == name) return &tensor;
  return nullptr;
}

void save_safetensors(const fs::path& path, const TensorFile& file) {
  SafetensorsHeader header{.tensors = {}, .metadata = file.metadata, .checksum = {}};
  std::map<std::string, torch::Tensor> dense;
  for (const auto& [name, tensor] : file.tensors) {
    check(tensor.defined(), "safetensors: {}: tensor '{}' is not defined", path.string(), name);
    check(tensor.layout() == torch::kStrided,
          "safetensors: {}: tensor '{}' is sparse, which the format cannot hold; make it dense",
          path.string(), name);
    header.tensors.push_back(
        {.name = name, .dtype = stored_dtype(tensor, name, path), .shape = tensor.sizes().vec()});
    dense[name] = tensor.detach().to(torch::kCPU).contiguous();
  }
  lay_out_safetensors(header, path);
  auto bytes = write_safetensors_header(header, path);
  Checksum sum;
  sum.add(bytes.data(), bytes.size());
  for (const auto& t : header.tensors) sum.add(dense[t.name]);
  bytes.replace(header.checksum_at, kChecksumDigits, sum.digits());
  write_file_atomically(path, [&](const ByteSink& sink) {
    sink(bytes.data(), bytes.size());
    for (const auto& t : header.tensors) sink(dense[t.name].data_ptr(), dense[t.name].nbytes());
  });
}

TensorFile load_safetensors(const fs::path& path, TensorContent content) {
  const auto mapping = std::make_shared<const FileMapping>(path, "safetensors");
  const auto all = mapping->bytes();
  std::string bytes(header_bytes(all, path));
  auto header = parse_safetensors_header(bytes, all.size(), path);
  const bool values = content == TensorContent::Values;
  const bool sealed = values && !header.checksum.empty();
  Checksum sum;
  if (sealed) bytes.replace(header.checksum_at, kChecksumDigits, kChecksumDigits, '0');
  sum.add(bytes.data(), bytes.size());
  TensorFile file{.tensors = {}, .metadata = std::move(header.metadata)};
  for (const auto& t : header.tensors) {
    const auto part = all.substr(bytes.size() + t.begin, t.end - t.begin);
    if (sealed) {
      sum.add(part.data(), part.size());
      mapping->give_back(part);
    }
    auto tensor = mapped_tensor(mapping, part, torch_dtype(t.dtype)).view(t.shape);
    // A foreign file may hold truths other than 0 and 1, which C++ does not allow.
    if (values && t.dtype == "BOOL") tensor = tensor.view(torch::kUInt8).ne(0);
    file.tensors.emplace_back(t.name, tensor);
  }
  check(!sealed || sum.digits() == header.checksum,
        "safetensors: {}: checksum {} does not match {}: the file is damaged (or another tool "
        "changed it and kept the old checksum); use an earlier checkpoint or fetch the file again",
        path.string(), sum.digits(), header.checksum);
  return file;
}

TensorFile load_safetensors(const fs::path& path) {
  return load_safetensors(path, TensorContent::Values);
}

std::map<std::string, std::string> read_safetensors_metadata(const fs::path& path) {
  const FileMapping mapping(path, "safetensors");
  return parse_safetensors_header(header_bytes(mapping.bytes(), path), mapping.bytes().size(), path)
      .metadata;
}

}  // namespace vitrine
