#include "vitrine/onnx/model_graph.h"

#include "vitrine/core/error.h"
#include "vitrine/nn/attention_capture.h"
#include "vitrine/onnx/operators.h"

namespace vitrine {
namespace {

constexpr int64_t kFirstBatch = 2, kSecondBatch = 3;

struct Ports {
  std::string input, output;
};

Ports ports_of(Task task) {
  switch (task) {
    case Task::Classes:
      return {"image", "logits"};
    case Task::NextToken:
      return {"tokens", "logits"};
    case Task::DigitSum:
      return {"digits", "logits"};
    case Task::NextValue:
      return {"values", "next_value"};
  }
  fail("onnx: the model's task is not known");
}

/// The model in evaluation mode for as long as it lives.
class Evaluating {
 public:
  explicit Evaluating(Model& model) : model_(model), was_training_(model.is_training()) {
    model_.eval();
  }
  Evaluating(const Evaluating&) = delete;
  Evaluating& operator=(const Evaluating&) = delete;
  ~Evaluating() { model_.train(was_training_); }

 private:
  Model& model_;
  bool was_training_;
};

/// How many layers record their weights; throws if none does.
size_t attention_layers(Model& model) {
  const torch::NoGradGuard no_grad;
  AttentionCapture capture;
  model.forward(model.example_input(1));
  check(!capture.layers.empty(),
        "onnx: no layer of this model holds attention weights, so there are none to export; leave "
        "out --attention");
  return capture.layers.size();
}

void emit(Emitter& emitter, const GraphCall& call) {
  const auto found = operator_table().find(call.op());
  check(found != operator_table().end(),
        "onnx: the model calls the operator {}, which the export does not know", call.op());
  const auto names = found->second(emitter, call);
  TORCH_INTERNAL_ASSERT(names.size() == call.results(), call.op(), " made ", names.size(),
                        " values");
  for (size_t i = 0; i < names.size(); ++i) emitter.set(call.result(i), names[i]);
}

}  // namespace

OnnxGraph graph_of(const torch::nn::Module& owner, const TracedFunction& f,
                   const torch::Tensor& first, const torch::Tensor& second,
                   const std::string& input, const std::vector<std::string>& outputs) {
  ConstantPool constants(owner);
  auto trace = trace_calls(f, first, constants);
  const BatchTrace traces(std::move(trace), trace_calls(f, second, constants), constants);
  Emitter emitter(traces, input);
  const auto needed = traces.needed();
  for (size_t i = 0; i < traces.calls(); ++i)
    if (needed[i]) emit(emitter, GraphCall(traces, i));
  for (size_t i = 0; i < outputs.size(); ++i) emitter.add_output(traces.output(i), outputs[i]);
  return emitter.finish();
}

OnnxGraph model_graph(Model& model, bool attention) {
  const Evaluating evaluating(model);
  const auto ports = ports_of(model.task());
  std::vector<std::string> outputs = {ports.output};
  if (attention)
    for (size_t i = 0, n = attention_layers(model); i < n; ++i)
      outputs.push_back(fmt::format("attention_{}", i));
  const auto forward = [&](const torch::Tensor& x) -> std::vector<torch::Tensor> {
    if (!attention) return {model.forward(x)};
    AttentionCapture capture;
    std::vector<torch::Tensor> made = {model.forward(x)};
    for (const auto& layer : capture.layers) made.push_back(layer.weights);
    return made;
  };
  return graph_of(model, forward, model.example_input(kFirstBatch),
                  model.example_input(kSecondBatch), ports.input, outputs);
}

}  // namespace vitrine
