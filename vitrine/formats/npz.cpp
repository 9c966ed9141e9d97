#include "vitrine/formats/npz.h"

#include <torch/torch.h>

#include <fstream>

#include "vitrine/core/archive.h"
#include "vitrine/core/error.h"
#include "vitrine/formats/npy.h"

namespace vitrine {
namespace {

constexpr std::string_view kSuffix = ".npy";
// Weights hardly shrink in a zip; what unpacks to far more is not meant well.
constexpr uint64_t kAlwaysAllowed = uint64_t{64} << 20, kMaxExpansion = 16;

/// How much the file may unpack to, if it is a zip at all.
uint64_t max_bytes(const fs::path& path) {
  check(fs::is_regular_file(path), "npz: {} is not a file", path.string());
  char magic[2] = {};
  std::ifstream(path, std::ios::binary).read(magic, sizeof magic);
  check(magic[0] == 'P' && magic[1] == 'K',
        "npz: {} is not a zip archive, as numpy.savez makes them; is it the right file?",
        path.string());
  return std::max(kAlwaysAllowed, kMaxExpansion * fs::file_size(path));
}

std::string place(const fs::path& path, const std::string& entry) {
  return fmt::format("{}: '{}'", path.string(), entry);
}

}  // namespace

TensorFile load_npz(const fs::path& path, TensorContent content) {
  TensorFile file;
  const bool shapes_only = content == TensorContent::ShapesOnly;
  const auto most = max_bytes(path);
  uint64_t described = 0;  // bytes that the arrays would unpack to
  const auto take = [&](const std::string& entry, const std::string& bytes) {
    check(entry.ends_with(kSuffix), "npz: {} is not an array (.npy); is it the right file?",
          place(path, entry));
    const auto name = entry.substr(0, entry.size() - kSuffix.size());
    check(file.find(name) == nullptr, "npz: {} comes twice; write the file again",
          place(path, entry));
    file.tensors.emplace_back(name, shapes_only ? parse_npy_shape(bytes, place(path, entry))
                                                : parse_npy(bytes, place(path, entry)));
    const auto more = static_cast<uint64_t>(file.tensors.back().second.nbytes());
    check(more <= most - described, "npz: {} describes more than {} bytes in {}", path.string(),
          most, name);
    described += more;
  };
  constexpr auto kWhole = std::numeric_limits<uint64_t>::max();
  read_archive(
      path, [](const std::string&) { return true; }, take, most, shapes_only ? kNpyHead : kWhole);
  return file;
}

void save_npz(const fs::path& path, const NamedTensors& tensors) {
  std::vector<torch::Tensor> dense;
  std::vector<std::string> headers;
  for (const auto& [name, tensor] : tensors) {
    dense.push_back(tensor.detach().to(torch::kCPU).contiguous());
    headers.push_back(npy_header(dense.back(), place(path, name)));
  }
  std::vector<ArchiveFile> files;
  for (size_t i = 0; i < tensors.size(); ++i)
    files.push_back(
        {tensors[i].first + std::string(kSuffix),
         {headers[i], {static_cast<const char*>(dense[i].data_ptr()), dense[i].nbytes()}}});
  write_zip(path, files);
}

}  // namespace vitrine
