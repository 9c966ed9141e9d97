// iGPT with the names of Hugging Face (ImageGPTForCausalImageModeling). Their table of colours has
// a last row, the start; matrices are stored as (in, out); biases exist and are zero. The files say
// nothing of the heads, and the palette lies beside them (weights/hub_palette.h).

#include <algorithm>
#include <cmath>

#include "vitrine/core/error.h"
#include "vitrine/weights/hub_palette.h"
#include "vitrine/weights/sources.h"

namespace vitrine {
namespace {

constexpr const char *kColorTable = "transformer.wte.weight", *kStart = "transformer.wte.start";

NameMap hugging_face_igpt_names() {
  using enum Step;
  const std::string block = "transformer.h.{i}.";
  return {
      .source = "an iGPT with the names of Hugging Face",
      .signature = {kStart, "transformer.h.0.attn.c_attn.weight", "transformer.ln_f.weight"},
      .placeholders = {{"{norm}", {{"ln_1", "norm1"}, {"ln_2", "norm2"}}},
                       {"{matrix}",
                        {{"attn.c_attn", "attn.qkv"},
                         {"attn.c_proj", "attn.proj"},
                         {"mlp.c_fc", "mlp.fc1"},
                         {"mlp.c_proj", "mlp.fc2"}}}},
      .rows = {{kColorTable, "embedding.weight"},
               {kStart, "start"},
               {"transformer.wpe.weight", "pos_embed"},
               {block + "{norm}.weight", "blocks.{i}.{norm}.weight"},
               {block + "{matrix}.weight", "blocks.{i}.{matrix}.weight", {Transpose}},
               {"transformer.ln_f.weight", "norm.weight"},
               {"lm_head.weight", "head.weight"},
               {kPaletteTensor, "colors", {}, /*optional=*/true}},
      .skips = {{"transformer.h.*.bias", "zero, or the causal mask"},
                {"transformer.h.*.attn.masked_bias", "a constant of the causal mask"}},
  };
}

bool has_tensor_named(const TensorFile& file, const std::string& name) {
  return std::any_of(file.tensors.begin(), file.tensors.end(),
                     [&](const auto& named) { return named.first == name; });
}

/// Whether the file is an iGPT's: the norms of a GPT-2, which has the same names, have biases.
bool is_igpt(const TensorFile& file) {
  return has_tensor_named(file, kColorTable) &&
         has_tensor_named(file, "transformer.h.0.attn.c_attn.weight") &&
         !has_tensor_named(file, "transformer.h.0.ln_1.bias");
}

/// Cuts the start off the table of colours, and makes of the positions what ours are, (1, T, C).
TensorFile with_start(TensorFile file) {
  if (!is_igpt(file)) return file;
  torch::Tensor start;
  for (auto& [name, tensor] : file.tensors) {
    const bool layer_bias = name.ends_with("c_attn.bias") || name.ends_with("c_proj.bias") ||
                            name.ends_with("c_fc.bias");
    check(!layer_bias || tensor.is_meta() || tensor.count_nonzero().item<int64_t>() == 0,
          "import: {} is not zero, and an iGPT has no biases", name);
    if (name == "transformer.wpe.weight" && tensor.dim() == 2) tensor = tensor.unsqueeze(0);
    if (name != kColorTable) continue;
    check(tensor.dim() == 2 && tensor.size(0) > 2,
          "import: {} is {}, and a table of colours and the start is expected", name,
          fmt::join(tensor.sizes(), "x"));
    start = tensor[-1];
    tensor = tensor.narrow(0, 0, tensor.size(0) - 1);
  }
  file.tensors.emplace_back(kStart, start);
  return file;
}

/// The head counts of the published networks; of others 64 channels each.
int64_t heads_of(int64_t dim) {
  constexpr int64_t kHeadDim = 64;
  if (dim == 1024) return 8;
  if (dim == 1536) return 16;
  return std::max<int64_t>(dim / kHeadDim, 1);
}

ModelDescription describe_igpt(const MappedFile& file) {
  const auto table = file.our_shape("embedding.weight", 2);  // (colors, dim)
  const auto tokens = file.our_shape("pos_embed", 3)[1];
  const auto side = std::llround(std::sqrt(static_cast<double>(tokens)));
  check(side > 0 && side * side == tokens,
        "import: {}: {} positions are not those of a square image", file.origin(), tokens);
  const auto dim = table[1];
  return {.model = dim >= 1536   ? "igpt_l"
                   : dim >= 1024 ? "igpt_m"
                                 : "igpt_s",
          .sizes = {{"image", side},
                    {"colors", table[0]},
                    {"dim", dim},
                    {"hidden", file.our_shape("blocks.0.mlp.fc1.weight", 2)[0]},
                    {"layers", file.blocks()}},
          .settings = {fmt::format("heads={}", heads_of(dim))},
          .recipe = fmt::format("data: {{dataset: cifar10, batch: 8, preprocess: {{image: {}}}, "
                                "palette: {{colors: {}}}}}",
                                side, table[0]),
          .preprocess = Preprocess{.image = side, .resize = side}};
}

}  // namespace

std::vector<NamedImporter> igpt_importers() {
  return {
      {"hugging_face_igpt", Importer{.map = hugging_face_igpt_names(),
                                     .describe = describe_igpt,
                                     .untold = "heads, and the palette unless the folder has one",
                                     .prepare = with_start}}};
}

}  // namespace vitrine
