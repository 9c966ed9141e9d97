#include "vitrine/inspect/summary.h"

#include <ATen/record_function.h>
#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "vitrine/models/model.h"
#include "vitrine/models/registry.h"
#include "vitrine/models/shapes_only.h"

namespace vitrine {
namespace {

using Inputs = c10::ArrayRef<const c10::IValue>;

bool has_tensor(const Inputs& in, size_t i) {
  return i < in.size() && in[i].isTensor() && in[i].toTensor().defined();
}

std::vector<torch::Tensor> tensors_of(const Inputs& in) {
  std::vector<torch::Tensor> tensors;
  for (const auto& value : in) {
    if (value.isTensor()) tensors.push_back(value.toTensor());
    if (value.isTensorList())
      for (const auto& t : value.toTensorVector()) tensors.push_back(t);
  }
  return tensors;
}

// Multiply-adds per element of the output.
double none(const Inputs&) { return 0; }
double per_linear(const Inputs& in) { return static_cast<double>(in[1].toTensor().size(-1)); }
double per_convolution(const Inputs& in) {
  const auto weight = in[1].toTensor();
  const auto per_channel = weight.numel() / weight.size(0);
  return static_cast<double>(per_channel);
}
double per_product(const Inputs& in) { return static_cast<double>(in[0].toTensor().size(-1)); }
double per_product_and_sum(const Inputs& in) {
  return static_cast<double>(in[1].toTensor().size(-1));
}
double per_layer_norm(const Inputs& in) { return has_tensor(in, 2) ? 5 : 4; }
double per_batch_norm(const Inputs& in) { return has_tensor(in, 1) ? 2 : 1; }
/// Per gate, a number of the state weighs the input and the state before.
double per_recurrence(const Inputs& in) {
  const auto weights = in[2].toTensorVector();
  const auto &from_input = weights[0], &from_state = weights[1];
  const auto gates = from_input.size(0) / from_state.size(1);
  return static_cast<double>(gates * (from_input.size(1) + from_state.size(1)));
}
double per_attention(const Inputs& in) { return static_cast<double>(2 * in[0].toTensor().size(1)); }
double per_scaled_attention(const Inputs& in) {
  const auto k = in[1].toTensor(), v = in[2].toTensor();
  return static_cast<double>(k.size(2) * (k.size(3) + v.size(3))) / static_cast<double>(v.size(3));
}
double per_window_attention(const Inputs& in) {
  return static_cast<double>(2 * in[1].toTensor().size(-1));
}
/// Each allowed pair of tokens costs a product of keys and one of values, in every head.
double per_sparse_attention(const Inputs& in) {
  const auto q = in[0].toTensor(), v = in[2].toTensor();
  const auto pairs = static_cast<double>(in[3].toInt());
  return pairs * static_cast<double>(q.size(3) + v.size(3)) /
         static_cast<double>(v.size(1) * v.size(3));
}

using Sizes = std::vector<int64_t>;

/// What attention gives: (B, T, C), by a tensor (B, T, ..., H, D) that it takes.
Sizes joined_heads(const c10::IValue& parts) {
  const auto& x = parts.toTensor();
  return {x.size(0), x.size(1), x.size(-2) * x.size(-1)};
}
Sizes packed_attention_output(const Inputs& in) { return joined_heads(in[0]); }
Sizes sparse_attention_output(const Inputs& in) { return joined_heads(in[2]); }
Sizes scaled_attention_output(const Inputs& in) {
  const auto q = in[0].toTensor(), v = in[2].toTensor();
  return {q.size(0), q.size(2), q.size(1) * v.size(3)};
}
Sizes like_input(const Inputs& in) { return in[0].toTensor().sizes().vec(); }
Sizes lookup_output(const Inputs& in) {
  auto sizes = like_input(in);
  sizes.push_back(in[1].toTensor().size(1));
  return sizes;
}
/// A state of (B, T, H) for an input of (B, T, C).
Sizes recurrent_output(const Inputs& in) {
  auto sizes = like_input(in);
  sizes.back() = in[2].toTensorVector()[1].size(1);
  return sizes;
}

struct AttentionSize {
  int64_t heads = 0, keys = 0;
};
AttentionSize packed_size(const Inputs& in) {
  const auto& qkv = in[0].toTensor();
  return {qkv.size(3), qkv.size(1)};
}
AttentionSize sparse_size(const Inputs& in) {
  const auto& q = in[0].toTensor();
  return {q.size(2), q.size(1)};
}
AttentionSize scaled_size(const Inputs& in) {
  const auto& k = in[1].toTensor();
  return {k.size(1), k.size(2)};
}
AttentionSize window_size(const Inputs& in) {
  const auto& bias = in[1].toTensor();
  return {bias.size(0), bias.size(1)};
}

struct LayerKind {
  const char* kind;
  double (*per_output)(const Inputs& in);
  size_t input = 0;  // which argument is the layer's input
  Sizes (*output)(const Inputs& in) =
      nullptr;  // of kernels whose record closes before their output
  AttentionSize (*attention)(const Inputs& in) = nullptr;
};

/// The operators that are rows of a summary; what runs inside one is part of it.
const LayerKind* layer_kind(const std::string& op) {
  static const std::map<std::string, LayerKind> kinds = {
      {"aten::linear", {"Linear", per_linear}},
      {"aten::conv1d", {"Conv1d", per_convolution}},
      {"aten::conv2d", {"Conv2d", per_convolution}},
      {"aten::conv3d", {"Conv3d", per_convolution}},
      {"vitrine::std_conv2d", {"StdConv2d", per_convolution}},
      {"aten::layer_norm", {"LayerNorm", per_layer_norm}},
      {"vitrine::layer_norm", {"LayerNorm", per_layer_norm, 0, like_input}},
      {"vitrine::rms_norm", {"RMSNorm", none, 0, like_input}},
      {"aten::group_norm", {"GroupNorm", per_layer_norm}},
      {"vitrine::group_norm", {"GroupNorm", per_layer_norm, 0, like_input}},
      {"aten::batch_norm", {"BatchNorm2d", per_batch_norm}},
      {"aten::embedding", {"Embedding", none, /*input=*/1}},
      {"vitrine::lookup", {"Embedding", none, 0, lookup_output}},
      {"aten::matmul", {"MatMul", per_product}},
      {"aten::bmm", {"MatMul", per_product}},
      {"aten::mm", {"MatMul", per_product}},
      {"aten::addmm", {"MatMul", per_product_and_sum, 1}},
      {"vitrine::packed_attention",
       {"Attention", per_attention, 0, packed_attention_output, packed_size}},
      {"vitrine::scaled_dot_product_attention",
       {"Attention", per_scaled_attention, 0, scaled_attention_output, scaled_size}},
      {"vitrine::window_attention",
       {"Attention", per_window_attention, 0, packed_attention_output, window_size}},
      {"vitrine::sparse_attention",
       {"Attention", per_sparse_attention, 0, sparse_attention_output, sparse_size}},
      {"aten::rnn_tanh", {"RNN", per_recurrence}},
      {"aten::lstm", {"LSTM", per_recurrence}},
      {"aten::gru", {"GRU", per_recurrence}},
      {"vitrine::rnn_tanh", {"RNN", per_recurrence, 0, recurrent_output}},
      {"vitrine::lstm", {"LSTM", per_recurrence, 0, recurrent_output}},
      {"vitrine::gru", {"GRU", per_recurrence, 0, recurrent_output}},
      {"aten::gelu", {"GELU", none}},
      {"vitrine::gelu", {"GELU", none, 0, like_input}},
      {"vitrine::relu", {"ReLU", none, 0, like_input}},
      {"aten::relu", {"ReLU", none}},
      {"aten::relu_", {"ReLU", none}},
      {"aten::silu", {"SiLU", none}},
      {"aten::softmax", {"Softmax", none}},
      {"aten::max_pool2d", {"MaxPool2d", none}},
      {"aten::avg_pool2d", {"AvgPool2d", none}},
      {"aten::adaptive_avg_pool2d", {"AdaptiveAvgPool2d", none}},
  };
  const auto found = kinds.find(op);
  return found == kinds.end() ? nullptr : &found->second;
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return tolower(c); });
  return text;
}

/// "a.b" of "a.b.c", "" of "c".
std::string parent(const std::string& name) {
  const auto dot = name.rfind('.');
  return dot == std::string::npos ? "" : name.substr(0, dot);
}

bool is_number(const std::string& text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), isdigit);
}

/// Gathers rows while it is the thread's observer.
class Watcher {
 public:
  explicit Watcher(const Model& model) {
    for (const auto& item : model.named_parameters()) {
      names_[storage_of(item.value())] = parameters_.size();
      parameters_.push_back({item.key(), item.value().sizes().vec(), item.value().numel()});
    }
    current_ = this;
    handle_ = at::addThreadLocalCallback(at::RecordFunctionCallback(&Watcher::start, &Watcher::end)
                                             .needsInputs(true)
                                             .needsOutputs(true)
                                             .scopes({at::RecordScope::FUNCTION}));
  }
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;
  ~Watcher() {
    at::removeCallback(handle_);
    current_ = nullptr;
  }

  /// The rows, with the parameters that no layer owns put in where they were first used.
  std::vector<LayerSummary> finish() {
    std::vector<Parameter> loose;
    std::copy_if(parameters_.begin(), parameters_.end(), std::back_inserter(loose),
                 [](const Parameter& p) { return !p.owned; });
    std::stable_sort(loose.begin(), loose.end(),
                     [](const auto& a, const auto& b) { return a.first_use < b.first_use; });
    for (size_t i = 0; i < loose.size(); ++i) {
      const auto place = std::min(loose[i].first_use + i, rows_.size());
      rows_.insert(rows_.begin() + static_cast<int64_t>(place),
                   {loose[i].name, "Parameter", {}, loose[i].shape, loose[i].count, 0});
    }
    return rows_;
  }

 private:
  struct Parameter {
    std::string name;
    std::vector<int64_t> shape;
    int64_t count;
    bool owned = false;
    size_t first_use = std::numeric_limits<int32_t>::max();  // the row before which it was used
  };
  struct Row : at::ObserverContext {
    LayerSummary layer;
    double per_output = 0;
  };

  static const void* storage_of(const torch::Tensor& t) {
    return t.has_storage() ? t.storage().unsafeGetStorageImpl() : nullptr;
  }

  Parameter* parameter_of(const torch::Tensor& t) {
    const auto found = t.defined() ? names_.find(storage_of(t)) : names_.end();
    return found == names_.end() ? nullptr : &parameters_[found->second];
  }

  void note_use(const torch::Tensor& t) {
    auto* p = parameter_of(t);
    if (p == nullptr || p->owned) return;
    p->first_use = std::min(p->first_use, rows_.size());
    // A bias that is added after the product belongs to the layer before.
    if (!rows_.empty() && rows_.back().name == parent(p->name)) give(*p, rows_.back());
  }

  static void give(Parameter& p, LayerSummary& layer) {
    layer.parameters += p.count;
    p.owned = true;
  }

  static std::unique_ptr<at::ObserverContext> start(const at::RecordFunction& f) {
    return current_->begin_op(f.name(), f.inputs());
  }
  static void end(const at::RecordFunction& f, at::ObserverContext* context) {
    if (context != nullptr) current_->end_layer(static_cast<Row&>(*context), f.outputs());
  }

  std::unique_ptr<at::ObserverContext> begin_op(const std::string& op, const Inputs& in) {
    if (inside_layer_) return nullptr;
    for (const auto& t : tensors_of(in)) note_use(t);
    const auto* kind = layer_kind(op);
    if (kind == nullptr) return nullptr;
    inside_layer_ = true;
    auto row = std::make_unique<Row>();
    row->layer.kind = kind->kind;
    row->per_output = kind->per_output(in);
    const auto shape = in[kind->input].toTensor().sizes();
    row->layer.input = shape.vec();
    if (kind->attention != nullptr) {
      const auto [heads, keys] = kind->attention(in);
      row->layer.heads = heads;
      row->layer.keys = keys;
    }
    if (kind->output != nullptr) row->layer.output = kind->output(in);
    take_parameters(in, row->layer);
    return row;
  }

  void take_parameters(const Inputs& in, LayerSummary& layer) {
    for (const auto& t : tensors_of(in)) {
      auto* p = parameter_of(t);
      if (p == nullptr) continue;
      if (layer.name.empty()) layer.name = parent(p->name).empty() ? p->name : parent(p->name);
      if (!p->owned) give(*p, layer);
    }
    if (!layer.name.empty()) {
      if (layer.kind == "MatMul") layer.kind = "Linear";
      last_owner_ = layer.name;
      return;
    }
    const auto above = parent(last_owner_);
    const auto leaf = above.empty() ? last_owner_ : last_owner_.substr(above.size() + 1);
    const auto place = is_number(leaf) ? last_owner_ : above;
    layer.name = (place.empty() ? "" : place + ".") + lower(layer.kind);
  }

  void end_layer(Row& row, const std::vector<c10::IValue>& outputs) {
    inside_layer_ = false;
    auto& layer = row.layer;
    if (layer.output.empty() && !outputs.empty() && outputs[0].isTensor())
      layer.output = outputs[0].toTensor().sizes().vec();
    layer.multiply_adds =
        std::llround(row.per_output * static_cast<double>(c10::multiply_integers(layer.output)));
    rows_.push_back(std::move(layer));
  }

  static thread_local Watcher* current_;

  std::map<const void*, size_t> names_;  // storage -> parameter
  std::vector<Parameter> parameters_;
  std::vector<LayerSummary> rows_;
  std::string last_owner_;
  bool inside_layer_ = false;
  at::CallbackHandle handle_;
};

thread_local Watcher* Watcher::current_ = nullptr;

/// The layers that run while `model` computes `forward`, in their order, and after them the
/// parameters that no layer owns, each at the place where it was first used.
std::vector<LayerSummary> watch_forward(Model& model) {
  const torch::NoGradGuard no_grad;
  const auto parameters = model.parameters();
  const auto device = parameters.empty() ? torch::Device(torch::kCPU) : parameters[0].device();
  const auto x = model.example_input(1).to(device);
  const bool was_training = model.is_training();
  model.eval();
  Watcher watcher(model);
  model.forward(x);
  model.train(was_training);
  return watcher.finish();
}

}  // namespace

ModelSummary summarize(Model& model) {
  ModelSummary summary;
  summary.layers = watch_forward(model);
  for (const auto& p : model.parameters()) {
    summary.parameters += p.numel();
    if (p.requires_grad()) summary.trainable += p.numel();
    summary.parameter_bytes += static_cast<int64_t>(p.nbytes());
  }
  const auto input = model.example_input(1);
  summary.input = input.sizes().vec();
  summary.input_bytes = static_cast<int64_t>(input.nbytes());
  int64_t outputs = 0;
  for (const auto& layer : summary.layers) {
    summary.multiply_adds += layer.multiply_adds;
    if (layer.kind != "Parameter") outputs += c10::multiply_integers(layer.output);
  }
  summary.pass_bytes = 2 * outputs * static_cast<int64_t>(sizeof(float));
  return summary;
}

ModelSummary summarize(const ModelChoice& choice) {
  const ShapesOnly shapes_only;
  return summarize(*choice.build());
}

}  // namespace vitrine
