#include "vitrine/onnx/export.h"

#include <nlohmann/json.hpp>

#include "vitrine/core/error.h"
#include "vitrine/core/settings.h"
#include "vitrine/onnx/file.h"
#include "vitrine/onnx/lower_precision.h"
#include "vitrine/onnx/model_graph.h"
#include "vitrine/weights/checkpoint.h"

namespace vitrine {
namespace {

/// What a user of the file must know of it: the values are text, lists are JSON.
std::map<std::string, std::string> metadata_of(const CheckpointInfo& info) {
  std::map<std::string, std::string> made = {{"model", to_yaml(info.model)},
                                             {"classes", nlohmann::json(info.classes).dump()}};
  if (!info.preprocess) return made;
  const auto& how = *info.preprocess;
  made["image"] = std::to_string(how.image);
  made["resize"] = std::to_string(how.resize);
  made["mean"] = nlohmann::json(how.mean).dump();
  made["std"] = nlohmann::json(how.std).dump();
  made["preprocess"] = to_yaml(how);
  return made;
}

std::vector<OnnxPort> ports(const std::vector<OnnxValue>& values) {
  std::vector<OnnxPort> made;
  for (const auto& value : values)
    made.push_back({value.name, {value.shape.begin() + 1, value.shape.end()}});
  return made;
}

}  // namespace

OnnxSummary export_onnx(const LoadedCheckpoint& checkpoint, const fs::path& path,
                        const OnnxOptions& options) {
  auto graph = model_graph(*checkpoint.model, options.attention);
  graph.name = checkpoint.info.model.name();
  graph.metadata = metadata_of(checkpoint.info);
  lower_precision(graph, options.precision);
  write_onnx(path, graph);
  return {.inputs = ports(graph.inputs),
          .outputs = ports(graph.outputs),
          .nodes = std::ssize(graph.nodes),
          .bytes = static_cast<int64_t>(fs::file_size(path))};
}

}  // namespace vitrine
