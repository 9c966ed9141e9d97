#include "vitrine/onnx/trace.h"

#include <torch/library.h>

#include <algorithm>
#include <unordered_map>

#include "vitrine/core/error.h"
#include "vitrine/ops/cpu_kernel.h"

// A dispatch key above all others, whose fallback sees every operator before torch takes it apart.

namespace vitrine {
namespace {

constexpr auto kTraceKey = c10::DispatchKey::TESTING_ONLY_GenericWrapper;

class Tracer {
 public:
  Tracer(const torch::Tensor& input, ConstantPool& constants) : constants_(constants) {
    outer_ = current;
    current = this;
    note_value(input);
  }
  Tracer(const Tracer&) = delete;
  Tracer& operator=(const Tracer&) = delete;
  ~Tracer() { current = outer_; }

  void call(const c10::OperatorHandle& op, torch::jit::Stack* stack);
  TraceTensor known(const torch::Tensor& t);
  Trace finish(const std::vector<torch::Tensor>& outputs);

  static thread_local Tracer* current;

 private:
  using TensorHandle = c10::weak_intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>;

  int64_t note_value(const torch::Tensor& t);
  bool depends(const c10::IValue& value) const;
  TraceArgument argument(const std::string& name, const c10::IValue& value);

  ConstantPool& constants_;
  Trace trace_;
  std::unordered_map<const c10::TensorImpl*, int64_t> values_;
  std::vector<TensorHandle> handles_;  // so that no address is used twice
  Tracer* outer_;
};

thread_local Tracer* Tracer::current = nullptr;

std::vector<torch::Tensor> tensors_in(const c10::IValue& value) {
  std::vector<torch::Tensor> tensors;
  if (value.isTensor()) return {value.toTensor()};
  if (value.isTensorList()) return value.toTensorVector();
  if (value.isList())
    for (const c10::IValue& item : value.toListRef())
      tensors.push_back(item.isTensor() ? item.toTensor() : torch::Tensor());
  return tensors;
}

bool is_list_of_tensors(const c10::IValue& value) {
  if (value.isTensorList()) return true;
  if (!value.isList()) return false;
  for (const c10::IValue& item : value.toListRef())
    if (item.isTensor()) return true;
  return false;
}

int64_t Tracer::note_value(const torch::Tensor& t) {
  const auto index = std::ssize(trace_.values);
  trace_.values.push_back({t.sizes().vec(), t.scalar_type()});
  values_[t.unsafeGetTensorImpl()] = index;
  handles_.emplace_back(t.getIntrusivePtr());
  return index;
}

bool Tracer::depends(const c10::IValue& value) const {
  for (const auto& t : tensors_in(value))
    if (t.defined() && values_.contains(t.unsafeGetTensorImpl())) return true;
  return false;
}

TraceTensor Tracer::known(const torch::Tensor& t) {
  if (!t.defined()) return {};
  const auto found = values_.find(t.unsafeGetTensorImpl());
  if (found != values_.end()) return {TraceTensor::Kind::Value, found->second};
  return {TraceTensor::Kind::Constant, constants_.add(t)};
}

TraceArgument Tracer::argument(const std::string& name, const c10::IValue& value) {
  TraceArgument made{.name = name};
  made.is_list = is_list_of_tensors(value);
  made.is_tensor = value.isTensor() || made.is_list;
  if (!made.is_tensor) made.plain = value;
  if (made.is_tensor)
    for (const auto& t : tensors_in(value)) made.tensors.push_back(known(t));
  return made;
}

void Tracer::call(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const auto& schema = op.schema();
  const auto& formal = schema.arguments();
  const auto given = torch::jit::last(*stack, formal.size());
  if (std::none_of(given.begin(), given.end(), [&](const auto& v) { return depends(v); }))
    return op.callBoxed(stack);  // a constant
  TraceCall call{.op = schema.name(), .arguments = {}, .results = {}};
  for (size_t i = 0; i < formal.size(); ++i) {
    const auto* alias = formal[i].alias_info();
    check(alias == nullptr || !alias->isWrite(),
          "onnx: the model calls {}, which changes a tensor in place; a graph cannot express that",
          schema.name());
    call.arguments.push_back(argument(formal[i].name(), given[i]));
  }
  op.callBoxed(stack);
  bool made = false;
  for (const auto& result : torch::jit::last(*stack, schema.returns().size())) {
    check(result.isTensor() || result.isTensorList(),
          "onnx: the model reads numbers that depend on the input ({}), so what it computes next "
          "may depend on them; a graph cannot express that",
          schema.name());
    for (const auto& t : tensors_in(result)) {
      const auto found = values_.find(t.unsafeGetTensorImpl());
      made |= found == values_.end();
      call.results.push_back(found == values_.end() ? note_value(t) : found->second);
    }
  }
  if (made) trace_.calls.push_back(std::move(call));  // else it returned its argument
}

Trace Tracer::finish(const std::vector<torch::Tensor>& outputs) {
  for (const auto& t : outputs) trace_.outputs.push_back(known(t));
  return std::move(trace_);
}

void record_call(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const c10::impl::ExcludeDispatchKeyGuard once(kTraceKey);
  Tracer::current->call(op, stack);
}

/// Registers the fallback, once per process.
void register_tracer() {
  static const auto library = [] {
    auto made =
        std::make_unique<torch::Library>(torch::Library::IMPL, "_", kTraceKey, __FILE__, __LINE__);
    made->fallback(torch::CppFunction::makeFromBoxedFunction<&record_call>());
    return made;
  }();
}

}  // namespace

Trace trace_calls(const TracedFunction& f, const torch::Tensor& input, ConstantPool& constants) {
  register_tracer();
  const torch::NoGradGuard no_grad;
  const ReferenceOps plain;
  Tracer tracer(input, constants);
  std::vector<torch::Tensor> outputs;
  {
    const c10::impl::IncludeDispatchKeyGuard traced(kTraceKey);
    outputs = f(input);
  }
  return tracer.finish(outputs);
}

}  // namespace vitrine
