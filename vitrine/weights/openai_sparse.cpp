#include "vitrine/weights/openai_sparse.h"

#include <torch/torch.h>

#include <set>

#include "vitrine/core/error.h"
#include "vitrine/core/settings.h"
#include "vitrine/formats/npz.h"
#include "vitrine/models/sparse_transformer.h"

namespace vitrine {
namespace {

constexpr const char* kImportedModel = "sparse_c10";

using Names = std::vector<std::string>;

std::string layer_scope(int64_t layer) { return fmt::format("model/h{}/", layer); }

/// What TensorFlow calls the moving average of a weight.
std::string average_name(const std::string& name) {
  return name.substr(0, name.find_last_of(':')) + "/Ema/ema:0";
}

/// Whether a variable is of the training alone: its counters and the optimizer's moments.
bool is_training_state(const std::string& name) {
  return !name.starts_with("model/") || name.find("/Adam") != name.npos ||
         name.find("/Adafactor") != name.npos;
}

Names weight_names(int64_t layers) {
  Names names = {"model/we:0",
                 "model/pos_emb_0:0",
                 "model/pos_emb_1:0",
                 "model/pos_emb_2:0",
                 "model/sos_token/sos:0",
                 "model/final_norm/g:0",
                 "model/final_norm/b:0",
                 "model/gen_logits/logits_proj:0"};
  for (int64_t layer = 0; layer < layers; ++layer) {
    const auto scope = layer_scope(layer);
    for (const auto* norm : {"attn_input", "mlp"})
      for (const auto* part : {"g", "b"})
        names.push_back(fmt::format("{}{}/{}:0", scope, norm, part));
    for (const auto* linear : {"q_proj", "k_proj", "v_proj", "post_proj", "mlp_proj1", "mlp_proj2"})
      for (const auto* part : {"w", "b"})
        names.push_back(fmt::format("{}{}/{}:0", scope, linear, part));
  }
  return names;
}

/// The first of many names.
std::string listed(const Names& names) {
  constexpr size_t kShown = 5;
  const Names first(names.begin(), names.begin() + std::min(kShown, names.size()));
  const auto more = names.size() - first.size();
  return fmt::format("'{}'{}", fmt::join(first, "', '"),
                     more > 0 ? fmt::format(" and {} more", more) : "");
}

/// The weights of a file, by TensorFlow's names and in our layouts.
class OpenAiWeights {
 public:
  OpenAiWeights(const TensorFile& file, std::string origin)
      : file_(file), origin_(std::move(origin)) {
    while (has_layer(layers_)) ++layers_;
    check(layers_ > 0,
          "import: {} holds no '{}...'; it is not a Sparse Transformer as OpenAI published them",
          origin_, layer_scope(0));
    check_names();
  }

  /// sparse_c10 with the sizes of the weights.
  SparseTransformerConfig config() const {
    auto config = sparse_c10();
    config.layers = layers_;
    config.dim = last_size("model/we:0");
    config.key_width = last_size("model/h0/q_proj/w:0");
    config.hidden = last_size("model/h0/mlp_proj1/w:0");
    config.rows = first_size("model/pos_emb_0:0");
    config.columns = first_size("model/pos_emb_1:0");
    config.channels = first_size("model/pos_emb_2:0");
    check(config.channels > 1,
          "import: {}: 'model/pos_emb_2:0' has {} row; a table of two or more "
          "colours is expected",
          origin_, config.channels);
    return config;
  }

  /// Our names and layouts.
  TensorFile converted(const SparseTransformerConfig& c) const {
    TensorFile ours;
    const auto add = [&](const std::string& name, const torch::Tensor& weight) {
      ours.tensors.emplace_back(name, weight);
    };
    const auto add_norm = [&](const std::string& name, const std::string& scope) {
      add(name + ".weight", shaped(scope + "/g:0", {c.dim}));
      add(name + ".bias", shaped(scope + "/b:0", {c.dim}));
    };
    const auto add_linear = [&](const std::string& name, const std::string& scope, int64_t in,
                                int64_t out) {
      add(name + ".weight", shaped(scope + "/w:0", {in, out}).t());
      add(name + ".bias", shaped(scope + "/b:0", {out}));
    };
    add("start", shaped("model/sos_token/sos:0", {c.dim}));
    add("embedding.weight", shaped("model/we:0", {kByteValues, c.dim}));
    // Their bytes are numbered by loops over rows, columns and channels, in this order, and table n
    // belongs to loop n.
    add("row_embed", shaped("model/pos_emb_0:0", {c.rows, c.dim}));
    add("column_embed", shaped("model/pos_emb_1:0", {c.columns, c.dim}));
    add("channel_embed", shaped("model/pos_emb_2:0", {c.channels, c.dim}));
    for (int64_t layer = 0; layer < c.layers; ++layer) {
      const auto block = fmt::format("blocks.{}.", layer), scope = layer_scope(layer);
      add_norm(block + "norm1", scope + "attn_input");
      add_norm(block + "norm2", scope + "mlp");
      const auto C = c.dim, K = c.key_width;
      const auto q = scope + "q_proj/", k = scope + "k_proj/", v = scope + "v_proj/";
      add(block + "attn.qkv.weight",
          torch::cat(
              {shaped(q + "w:0", {C, K}), shaped(k + "w:0", {C, K}), shaped(v + "w:0", {C, C})}, 1)
              .t());  // (K + K + C, C)
      add(block + "attn.qkv.bias",
          torch::cat({shaped(q + "b:0", {K}), shaped(k + "b:0", {K}), shaped(v + "b:0", {C})}));
      add_linear(block + "attn.proj", scope + "post_proj", c.dim, c.dim);
      add_linear(block + "mlp.fc1", scope + "mlp_proj1", c.dim, c.hidden);
      add_linear(block + "mlp.fc2", scope + "mlp_proj2", c.hidden, c.dim);
    }
    add_norm("norm", "model/final_norm");
    add("head.weight", head(c.dim));
    return ours;
  }

 private:
  bool has_layer(int64_t layer) const {
    return std::any_of(file_.tensors.begin(), file_.tensors.end(), [&](const auto& tensor) {
      return tensor.first.starts_with(layer_scope(layer));
    });
  }

  void check_names() const {
    const auto names = weight_names(layers_);
    std::set<std::string> unknown;
    for (const auto& [name, tensor] : file_.tensors)
      if (!is_training_state(name)) unknown.insert(name);
    Names missing;
    for (const auto& name : names) {
      const auto found = unknown.erase(name) + unknown.erase(average_name(name));
      if (found == 0) missing.push_back(name);
    }
    check(missing.empty(), "import: {} lacks {}; is the file complete?", origin_, listed(missing));
    check(unknown.empty(), "import: {} holds {}, which the model has no place for", origin_,
          listed({unknown.begin(), unknown.end()}));
  }

  const torch::Tensor& stored(const std::string& name) const {
    const auto* average = file_.find(average_name(name));
    return average != nullptr ? *average : *file_.find(name);
  }
  int64_t first_size(const std::string& name) const { return outer_size(name, 0); }
  int64_t last_size(const std::string& name) const { return outer_size(name, -1); }
  int64_t outer_size(const std::string& name, int64_t dimension) const {
    check(stored(name).dim() >= 2, "import: {}: '{}' is {}, expected a matrix", origin_, name,
          shape_text(stored(name)));
    return stored(name).size(dimension);
  }
  static std::string shape_text(const torch::Tensor& tensor) {
    return tensor.dim() == 0 ? "a number" : fmt::format("{}", fmt::join(tensor.sizes(), "x"));
  }

  /// The weight without leading dimensions of 1, which convolutions have more of.
  torch::Tensor squeezed(const std::string& name, int64_t dimensions) const {
    auto weight = stored(name);
    while (weight.dim() > dimensions && weight.size(0) == 1) weight = weight.squeeze(0);
    return weight.to(torch::kFloat);
  }

  torch::Tensor shaped(const std::string& name, const std::vector<int64_t>& shape) const {
    const auto weight = squeezed(name, std::ssize(shape));
    check(weight.sizes() == torch::IntArrayRef(shape),
          "import: {}: '{}' is {}, the other weights ask for {}", origin_, name,
          shape_text(stored(name)), fmt::join(shape, "x"));
    return weight;
  }

  /// (256, dim), stored so or, as TensorFlow has it, (dim, 256).
  torch::Tensor head(int64_t dim) const {
    const std::string name = "model/gen_logits/logits_proj:0";
    const auto weight = squeezed(name, 2);
    const bool ours = weight.dim() == 2 && weight.size(0) == kByteValues && weight.size(0) != dim;
    return ours ? shaped(name, {kByteValues, dim}) : shaped(name, {dim, kByteValues}).t();
  }

  const TensorFile& file_;
  std::string origin_;
  int64_t layers_ = 0;
};

/// The sizes with what the user wants; what the shapes have decided cannot be set otherwise.
SparseTransformerConfig with_settings(const SparseTransformerConfig& sizes,
                                      const std::vector<std::string>& assignments,
                                      const std::string& origin) {
  auto config = sizes;
  auto settings = Settings::from_text("{}", origin);
  for (const auto& assignment : assignments) settings.override_with(assignment);
  settings.read_into(config);
  const auto same = [&](const char* key, int64_t wanted, int64_t there) {
    check(wanted == there, "import: {}={}, but the weights of {} are for {}={}; leave it out", key,
          wanted, origin, key, there);
  };
  same("rows", config.rows, sizes.rows);
  same("columns", config.columns, sizes.columns);
  same("channels", config.channels, sizes.channels);
  same("layers", config.layers, sizes.layers);
  same("dim", config.dim, sizes.dim);
  same("key_width", config.key_width, sizes.key_width);
  same("hidden", config.hidden, sizes.hidden);
  config.validate();
  return config;
}

}  // namespace

LoadedCheckpoint import_openai_sparse(const fs::path& npz,
                                      const std::vector<std::string>& settings) {
  const auto file = load_npz(npz);
  const OpenAiWeights weights(file, npz.string());
  const auto config = with_settings(weights.config(), settings, npz.string());
  const auto ours = weights.converted(config);
  LoadedCheckpoint loaded;
  loaded.info.model = read_model(fmt::format("name: {}\n{}", kImportedModel, to_yaml(config)),
                                 /*settings=*/{}, npz.string());
  loaded.model = loaded.info.model.build();
  set_weights(*loaded.model, ours, npz.string());
  loaded.model->eval();
  return loaded;
}

}  // namespace vitrine
