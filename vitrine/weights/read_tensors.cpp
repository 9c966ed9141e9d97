#include "vitrine/weights/read_tensors.h"

#include <fstream>

#include "vitrine/formats/npz.h"

namespace vitrine {
namespace {

bool is_zip(const fs::path& path) {
  char magic[2] = {};
  std::ifstream(path, std::ios::binary).read(magic, sizeof magic);
  return magic[0] == 'P' && magic[1] == 'K';
}

}  // namespace

TensorFile read_tensors(const fs::path& path) {
  const bool npz = path.extension() == ".npz" || (fs::is_regular_file(path) && is_zip(path));
  return npz ? load_npz(path) : load_safetensors(path);
}

}  // namespace vitrine
