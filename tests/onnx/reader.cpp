#include "tests/onnx/reader.h"

#include <onnx/checker.h>
#include <onnx/onnx_pb.h>

#include <stdexcept>

namespace vitrine::test {
namespace {

OnnxFile::Value value_of(const ::onnx::ValueInfoProto& proto) {
  OnnxFile::Value value{proto.name(), {}};
  for (const auto& dim : proto.type().tensor_type().shape().dim())
    value.shape.push_back(dim.has_dim_param() ? dim.dim_param() : std::to_string(dim.dim_value()));
  return value;
}

}  // namespace

OnnxFile read_onnx(const fs::path& path) {
  ::onnx::ModelProto model;
  if (!model.ParseFromString(read_file(path))) throw std::runtime_error("not an ONNX file");
  ::onnx::checker::check_model(model);
  OnnxFile file;
  file.operator_set = model.opset_import(0).version();
  for (const auto& value : model.graph().input()) file.inputs.push_back(value_of(value));
  for (const auto& value : model.graph().output()) file.outputs.push_back(value_of(value));
  for (const auto& node : model.graph().node()) ++file.operators[node.op_type()];
  for (const auto& tensor : model.graph().initializer()) file.constants.push_back(tensor.name());
  for (const auto& entry : model.metadata_props()) file.metadata[entry.key()] = entry.value();
  return file;
}

}  // namespace vitrine::test
