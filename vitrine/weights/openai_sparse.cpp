// OpenAI's .npz files hold every TensorFlow variable of a training run: the weights
// ("model/h0/q_proj/w:0"), their moving averages ("model/h0/q_proj/w/Ema/ema:0") and the
// optimizer's state. The averages are what those networks are evaluated with, so they come first.
//
// The file does not say how many heads there are, what they attend to and in which order the bytes
// come. The published ones for CIFAR-10 have one strided layer in four, the others are local, and
// windows and strides are a row of the image; a window has one token less than in the paper.

#include "vitrine/core/error.h"
#include "vitrine/weights/sources.h"

namespace vitrine {
namespace {

/// What TensorFlow calls the moving average of a weight.
std::string average_name(const std::string& name) {
  return name.substr(0, name.find_last_of(':')) + "/Ema/ema:0";
}

NameMap openai_sparse_names() {
  using enum Step;
  return {
      .source = "a Sparse Transformer as OpenAI published them",
      .signature = "model/h0/*",
      .placeholders = {{"{norm}", {{"g:0", "weight"}, {"b:0", "bias"}}},
                       {"{linear}", {{"w:0", "weight"}, {"b:0", "bias"}}}},
      // Bytes are numbered by loops over rows, columns and channels, in this order, and table n
      // belongs to loop n. Some files hold linear layers as convolutions: leading dimensions of 1.
      .rows =
          {
              {"model/we:0", "embedding.weight", {Squeeze}},
              {"model/pos_emb_0:0", "row_embed", {Squeeze}},
              {"model/pos_emb_1:0", "column_embed", {Squeeze}},
              {"model/pos_emb_2:0", "channel_embed", {Squeeze}},
              {"model/sos_token/sos:0", "start", {Squeeze}},
              {"model/final_norm/{norm}", "norm.{norm}", {Squeeze}},
              {"model/gen_logits/logits_proj:0", "head.weight", {Squeeze, Orient}},
              {"model/h{i}/attn_input/{norm}", "blocks.{i}.norm1.{norm}", {Squeeze}},
              {"model/h{i}/mlp/{norm}", "blocks.{i}.norm2.{norm}", {Squeeze}},
              {{"model/h{i}/q_proj/{linear}", "model/h{i}/k_proj/{linear}",
                "model/h{i}/v_proj/{linear}"},
               "blocks.{i}.attn.qkv.{linear}",
               {Squeeze, Transpose}},
              {"model/h{i}/post_proj/{linear}",
               "blocks.{i}.attn.proj.{linear}",
               {Squeeze, Transpose}},
              {"model/h{i}/mlp_proj1/{linear}",
               "blocks.{i}.mlp.fc1.{linear}",
               {Squeeze, Transpose}},
              {"model/h{i}/mlp_proj2/{linear}",
               "blocks.{i}.mlp.fc2.{linear}",
               {Squeeze, Transpose}},
          },
      .skips = {{"*/Adam*", "state of the optimizer"}, {"*/Adafactor*", "state of the optimizer"}},
      .scope = "model/",
      .preferred = average_name,
  };
}

ModelDescription describe_openai_sparse(const MappedFile& file) {
  const auto rows = file.their_size("model/pos_emb_0:0", 0);
  const auto columns = file.their_size("model/pos_emb_1:0", 0);
  const auto channels = file.their_size("model/pos_emb_2:0", 0);
  check(channels > 1,
        "import: {}: 'model/pos_emb_2:0' has {} row; a table of two or more colours is expected",
        file.origin(), channels);
  const bool cifar10 = rows == 32 && columns == 32 && channels == 3;
  const auto dim = file.their_size("model/we:0", -1);
  const auto key_width = file.their_size("model/h0/q_proj/w:0", -1);
  std::vector<std::string> settings = {"pattern.short_window=true"};
  if (cifar10) {
    // 15 and 58 million parameters have half as wide queries; 150 million have 16 heads.
    const bool large = key_width == dim;
    settings.insert(settings.end(), {"assignment=per_layer", "layer_period=4",
                                     fmt::format("layer_phase={}", large ? 1 : 0),
                                     fmt::format("heads={}", large ? 16 : 2),
                                     fmt::format("pattern.stride={}", columns * channels)});
  }
  return {.model = "sparse_c10",
          .sizes = {{"layers", file.blocks()},
                    {"dim", dim},
                    {"key_width", key_width},
                    {"hidden", file.their_size("model/h0/mlp_proj1/w:0", -1)},
                    {"rows", rows},
                    {"columns", columns},
                    {"channels", channels}},
          .settings = std::move(settings),
          // 2,000 images for validation, as in the paper.
          .recipe = cifar10 ? "data: {dataset: cifar10_bytes, batch: 8, validation: 0.04}" : ""};
}

}  // namespace

std::vector<NamedImporter> openai_sparse_importers() {
  return {{"openai_sparse", Importer{.map = openai_sparse_names(),
                                     .describe = describe_openai_sparse,
                                     .untold = "heads, pattern and order of the bytes"}}};
}

}  // namespace vitrine
