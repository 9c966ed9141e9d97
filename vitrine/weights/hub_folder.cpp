#include "vitrine/weights/hub_folder.h"

#include <nlohmann/json.hpp>
#include <set>

#include "vitrine/core/error.h"
#include "vitrine/core/json_nesting.h"
#include "vitrine/weights/read_tensors.h"

namespace vitrine {
namespace {

using nlohmann::json;

constexpr const char* kIndexEnding = ".index.json";
const std::vector<std::string> kWeightEndings = {".safetensors", ".npz", ".pth", ".bin", ".pt"};

json read_json(const fs::path& path) {
  const auto text = read_file(path);
  check(!is_nested_deeper(text), "import: {} is nested deeper than {} levels", path.string(),
        kJsonLevels);
  auto result = json::parse(text, /*cb=*/nullptr, /*allow_exceptions=*/false);
  check(result.is_object(), "import: {} is not a JSON object", path.string());
  return result;
}

/// The files of weights right in a folder, sorted.
std::vector<fs::path> weight_files(const fs::path& folder) {
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const auto ending = entry.path().extension().string();
    if (entry.is_regular_file() &&
        std::find(kWeightEndings.begin(), kWeightEndings.end(), ending) != kWeightEndings.end())
      found.push_back(entry.path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

fs::path weight_file(const fs::path& folder) {
  for (const auto* name : {"model.safetensors", "model.safetensors.index.json", "pytorch_model.bin",
                           "pytorch_model.bin.index.json", "pytorch_model.pth"})
    if (fs::exists(folder / name)) return folder / name;
  const auto files = weight_files(folder);
  check(!files.empty(),
        "import: {} holds no weights; expected model.safetensors, pytorch_model.bin or one file of "
        "weights",
        folder.string());
  check(files.size() == 1, "import: {} holds {} files of weights ({}, {}, ...); give one of them",
        folder.string(), files.size(), files[0].filename().string(),
        files.size() < 2 ? "" : files[1].filename().string());
  return files[0];
}

/// The tensors of all files that an index names.
TensorFile read_shards(const fs::path& index, TensorContent content) {
  const auto json = read_json(index);
  const auto map = json.find("weight_map");
  check(map != json.end() && map->is_object(), "import: {} has no weight_map", index.string());
  std::set<std::string> files, wanted;
  for (const auto& [name, file] : map->items()) {
    check(
        file.is_string() && fs::path(file.get<std::string>()).filename() == file.get<std::string>(),
        "import: {}: '{}' lies in {}, which is not the name of a file beside it", index.string(),
        name, file.dump());
    files.insert(file.get<std::string>());
    wanted.insert(name);
  }
  TensorFile all;
  for (const auto& file : files)
    for (auto& tensor : read_tensors(index.parent_path() / file, content).tensors) {
      check(wanted.erase(tensor.first) == 1, "import: {} does not name '{}' of {} once",
            index.string(), tensor.first, file);
      all.tensors.push_back(std::move(tensor));
    }
  check(wanted.empty(), "import: {} names '{}', which is in none of its files", index.string(),
        wanted.empty() ? "" : *wanted.begin());
  return all;
}

}  // namespace

bool holds_hub_weights(const fs::path& folder) { return !weight_files(folder).empty(); }

TensorFile read_hub_weights(const fs::path& folder, TensorContent content) {
  const auto path = weight_file(folder);
  return path.string().ends_with(kIndexEnding) ? read_shards(path, content)
                                               : read_tensors(path, content);
}

}  // namespace vitrine
