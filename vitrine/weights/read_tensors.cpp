#include "vitrine/weights/read_tensors.h"

#include <torch/torch.h>

#include "vitrine/formats/file_mapping.h"
#include "vitrine/formats/npz.h"
#include "vitrine/formats/pth.h"
#include "vitrine/formats/pth_legacy.h"
#include "vitrine/formats/stored_zip.h"
#include "vitrine/formats/tfjs.h"

namespace vitrine {
namespace {

enum class TensorFormat { Safetensors, Npz, Pth, Tfjs };

TensorFormat format_of(const fs::path& path) {
  if (is_tfjs(path)) return TensorFormat::Tfjs;
  const FileMapping file(path, "weights");
  if (is_legacy_pth(file.bytes())) return TensorFormat::Pth;
  if (!file.bytes().starts_with("PK")) return TensorFormat::Safetensors;
  return zip_lists(file.bytes(), "data.pkl") ? TensorFormat::Pth : TensorFormat::Npz;
}

TensorFile read_format(const fs::path& path, TensorContent content) {
  switch (format_of(path)) {
    case TensorFormat::Pth:
      return load_pth(path, content);
    case TensorFormat::Npz:
      return load_npz(path, content);
    case TensorFormat::Tfjs:
      return load_tfjs(path);
    case TensorFormat::Safetensors:
      break;
  }
  return load_safetensors(path, content);
}

}  // namespace

TensorFile read_tensors(const fs::path& path, TensorContent content) {
  auto file = read_format(path, content);
  if (content == TensorContent::ShapesOnly)
    for (auto& [name, tensor] : file.tensors)
      tensor = torch::empty(tensor.sizes(), tensor.options().device(torch::kMeta));
  return file;
}

}  // namespace vitrine
