#include "vitrine/onnx/file.h"

#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <onnx/checker.h>
#include <onnx/onnx_pb.h>
#include <onnx/shape_inference/implementation.h>

#include "vitrine/core/error.h"

namespace vitrine {
namespace {

constexpr int64_t kOperatorSet = 17, kIrVersion = 8;

void set_type(::onnx::TypeProto& type, const OnnxValue& value) {
  auto& tensor = *type.mutable_tensor_type();
  tensor.set_elem_type(static_cast<int32_t>(value.type));
  for (const auto size : value.shape) {
    auto& dimension = *tensor.mutable_shape()->add_dim();
    if (size == kOnnxBatch)
      dimension.set_dim_param("batch");
    else
      dimension.set_dim_value(size);
  }
}

void set_value(::onnx::ValueInfoProto& proto, const OnnxValue& value) {
  proto.set_name(value.name);
  set_type(*proto.mutable_type(), value);
}

struct SetAttribute {
  ::onnx::AttributeProto& proto;

  void operator()(int64_t value) const {
    proto.set_type(::onnx::AttributeProto::INT);
    proto.set_i(value);
  }
  void operator()(float value) const {
    proto.set_type(::onnx::AttributeProto::FLOAT);
    proto.set_f(value);
  }
  void operator()(const std::string& value) const {
    proto.set_type(::onnx::AttributeProto::STRING);
    proto.set_s(value);
  }
  void operator()(const std::vector<int64_t>& values) const {
    proto.set_type(::onnx::AttributeProto::INTS);
    for (const auto value : values) proto.add_ints(value);
  }
};

void set_node(::onnx::NodeProto& proto, const OnnxNode& node) {
  proto.set_name(node.outputs.at(0));
  proto.set_op_type(node.op);
  for (const auto& name : node.inputs) proto.add_input(name);
  for (const auto& name : node.outputs) proto.add_output(name);
  for (const auto& [name, value] : node.attributes) {
    auto& attribute = *proto.add_attribute();
    attribute.set_name(name);
    std::visit(SetAttribute{attribute}, value);
  }
}

void set_constant(::onnx::TensorProto& proto, const OnnxTensor& tensor) {
  proto.set_name(tensor.name);
  proto.set_data_type(static_cast<int32_t>(tensor.type));
  for (const auto size : tensor.shape) proto.add_dims(size);
  proto.set_raw_data(tensor.data.get(), tensor.bytes);
}

void set_graph(::onnx::GraphProto& proto, const OnnxGraph& graph) {
  proto.set_name(graph.name);
  for (const auto& value : graph.inputs) set_value(*proto.add_input(), value);
  for (const auto& value : graph.outputs) set_value(*proto.add_output(), value);
  for (const auto& node : graph.nodes) set_node(*proto.add_node(), node);
  for (const auto& tensor : graph.constants) set_constant(*proto.add_initializer(), tensor);
}

/// Throws if the graph is not a valid one: that would be a mistake of the export.
void check_graph(::onnx::ModelProto& model) {
  try {
    ::onnx::checker::check_model(model);
    const ::onnx::ShapeInferenceOptions strict(/*check_type=*/true, /*strict_mode=*/1,
                                               /*data_prop=*/true);
    ::onnx::shape_inference::InferShapes(model, ::onnx::OpSchemaRegistry::Instance(), strict);
    model.mutable_graph()->clear_value_info();  // whoever reads the file infers them as well
  } catch (const std::exception& e) {
    fail("onnx: the graph of {} is not valid: {}", model.graph().name(), e.what());
  }
}

class SinkStream : public google::protobuf::io::CopyingOutputStream {
 public:
  explicit SinkStream(const ByteSink& sink) : sink_(sink) {}
  bool Write(const void* bytes, int count) override {
    sink_(bytes, static_cast<size_t>(count));
    return true;
  }

 private:
  const ByteSink& sink_;
};

void check_size(const std::string& name, int64_t bytes, int64_t limit) {
  constexpr double kMega = 1e6;
  check(bytes <= limit,
        "onnx: the file of {} would take {:.1f} MB, more than the {:.1f} MB that a protocol buffer "
        "may have; export a smaller model",
        name, static_cast<double>(bytes) / kMega, static_cast<double>(limit) / kMega);
}

}  // namespace

void write_onnx(const fs::path& path, const OnnxGraph& graph, int64_t limit) {
  int64_t constant_bytes = 0;
  for (const auto& tensor : graph.constants) constant_bytes += static_cast<int64_t>(tensor.bytes);
  check_size(graph.name, constant_bytes, limit);  // before memory is taken for them
  ::onnx::ModelProto model;
  model.set_ir_version(kIrVersion);
  model.set_producer_name("vitrine");
  model.add_opset_import()->set_version(kOperatorSet);
  for (const auto& [key, value] : graph.metadata) {
    auto& entry = *model.add_metadata_props();
    entry.set_key(key);
    entry.set_value(value);
  }
  set_graph(*model.mutable_graph(), graph);
  check_size(graph.name, static_cast<int64_t>(model.ByteSizeLong()), limit);
  check_graph(model);
  write_file_atomically(path, [&](const ByteSink& sink) {
    SinkStream stream(sink);
    google::protobuf::io::CopyingOutputStreamAdaptor adaptor(&stream);
    check(model.SerializeToZeroCopyStream(&adaptor) && adaptor.Flush(),
          "onnx: {} could not be serialized", path.string());
  });
}

}  // namespace vitrine
