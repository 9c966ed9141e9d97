#include "vitrine/inspect/cards/families.h"

#include <algorithm>

namespace vitrine {
namespace {

ModelFamily vit_family() {
  return {
      .name = "ViT and DeiT",
      .figure = "vit",
      .prefixes = {"vit_", "deit_"},
      .idea =
          "A Vision Transformer (ViT) cuts an image into square patches, projects each to a token "
          "by "
          "one matrix, adds a positional encoding, and applies the encoder of a language model: "
          "pre-norm blocks of attention over all pairs of tokens and a feed-forward network. A "
          "learned class token collects what the head reads. Beyond the patches nothing in the "
          "network knows that tokens lie on a grid, so it has little inductive bias and needs much "
          "data, pre-training or strong augmentation. All blocks work at one resolution; attention "
          "grows with the square of the number of tokens, everything else in proportion to it. "
          "DeiT is the same network with a training recipe for ImageNet alone; the distilled "
          "variants have a second token whose head learns from a teacher. `vit_c10_302m` has "
          "sinusoidal positions and a head of its own (Linear, GELU, LayerNorm over the classes).",
      .paper =
          "Dosovitskiy et al., \"An Image is Worth 16x16 Words\" (2021); Touvron et al., "
          "\"Training data-efficient image transformers\" (2021)",
      .shown = "vit_s16",
      .blocks = {"blocks.#"},
      .recipes = {"vit-tiny-cifar10", "vit-small-cifar10", "vit-302m-cifar10",
                  "vit-performer-cifar10", "distill-cifar10"},
      .weights = {{"timm and DeiT", {"timm_vit"}},
                  {"Hugging Face", {"hugging_face_vit", "hugging_face_deit"}},
                  {"torchvision", {"torchvision_vit"}},
                  {"Google", {"google_vit"}}},
  };
}

ModelFamily hybrid_family() {
  return {
      .name = "Hybrid of ResNet and ViT",
      .figure = "hybrid",
      .prefixes = {"r50_vit_", "r26_vit_", "r_vit_", "hybrid_"},
      .idea =
          "The patches of a ViT are cut from the feature map of a convolutional network instead of "
          "from the image. The convolutions bring locality and translation equivariance, so less "
          "data suffices, and they reduce the resolution before attention has to pay for it; "
          "the blocks are those of ViT. The published backbones are ResNets with weight "
          "standardisation and GroupNorm (BiT). The number after the name is the stride of the "
          "tokens in pixels, except for `r_vit_ti16`, whose stem divides by 4 and whose patches by "
          "8. "
          "Any ViT takes such a backbone (`backbone.kind`), and it can be initialised from "
          "published weights of a ResNet by itself (`init_backbone`).",
      .paper =
          "Dosovitskiy et al., \"An Image is Worth 16x16 Words\" (2021), section 3.1; Steiner et "
          "al., \"How to train your ViT?\" (2021)",
      .shown = "r50_vit_b16",
      .blocks = {"patch_embed.backbone.stages.#.blocks.#", "blocks.#"},
      .recipes = {"hybrid-cifar10"},
      .weights = {{"timm", {"timm_hybrid", "timm_hybrid_stem"}}, {"Google", {"google_hybrid"}}},
  };
}

ModelFamily swin_family() {
  return {
      .name = "Swin Transformer and Swin v2",
      .figure = "swin",
      .prefixes = {"swin_"},
      .idea =
          "Attention stays inside windows of the grid, and in every second block the windows are "
          "shifted by half their side, so that information crosses their borders. With windows of "
          "a fixed size the cost grows in proportion to the number of tokens instead of its "
          "square, "
          "which allows patches of 4 pixels. Between stages each square of four tokens is merged "
          "into one of twice the embedding dimension, as in a convolutional network. Positions are "
          "learned biases for the offset between query and key within a window; the head reads the "
          "mean of the tokens. Version 2 measures similarity by the cosine with a learned "
          "temperature, computes the biases by a small network of the logarithm of the offset, and "
          "puts LayerNorm behind each sublayer, which keeps large models stable and lets windows "
          "change their size.",
      .paper =
          "Liu et al., \"Swin Transformer: Hierarchical Vision Transformer using Shifted "
          "Windows\" (2021) and \"Swin Transformer V2: Scaling Up Capacity and Resolution\" "
          "(2022)",
      .shown = "swin_t",
      .blocks = {"layers.#.blocks.#"},
      .recipes = {"swin-cifar10", "swin-v2-cifar10"},
      .weights = {{"Microsoft", {"microsoft_swin", "microsoft_swin_v2"}},
                  {"timm", {"timm_swin", "timm_swin_v2"}},
                  {"Hugging Face", {"hugging_face_swin", "hugging_face_swin_v2"}},
                  {"torchvision", {"torchvision_swin", "torchvision_swin_v2"}}},
  };
}

ModelFamily pvt_family() {
  return {
      .name = "PVT and PVT v2",
      .figure = "pvt",
      .prefixes = {"pvt_"},
      .idea =
          "The Pyramid Vision Transformer gives a transformer the stages of a convolutional "
          "network: "
          "each stage embeds patches of the tokens before it, with fewer tokens of a larger "
          "dimension. Every query still attends to the whole image, but keys and values are "
          "reduced "
          "by a convolution with a stride (8, 4, 2 and 1), so that the fine stages stay "
          "affordable: "
          "attention costs tokens times keys. PVT learns a position embedding for each stage and "
          "reads a class token that joins the last one. PVT v2 lets patches overlap, puts a "
          "depth-wise convolution into the feed-forward network in place of positions, and reads "
          "the mean of the tokens, so it takes other image sizes without interpolation.",
      .paper =
          "Wang et al., \"Pyramid Vision Transformer: A Versatile Backbone for Dense Prediction "
          "without Convolutions\" (2021) and \"PVT v2: Improved Baselines with Pyramid Vision "
          "Transformer\" (2022)",
      .shown = "pvt_small",
      .blocks = {"block#.#"},
      .recipes = {"pvt-cifar10", "pvt-v2-cifar10"},
      .weights = {{"the authors", {"pvt", "pvt_v2"}},
                  {"Hugging Face", {"hugging_face_pvt"}},
                  {"timm", {"timm_pvt_v2"}}},
  };
}

ModelFamily cvt_family() {
  return {
      .name = "CvT",
      .figure = "cvt",
      .prefixes = {"cvt_"},
      .idea =
          "The Convolutional vision Transformer puts convolutions into the transformer at two "
          "places. "
          "Each of three stages embeds the map before it by an overlapping convolution, and "
          "queries, "
          "keys and values are projected through depth-wise 3 × 3 convolutions, those of keys and "
          "values with stride 2: a quarter of the keys, and a quarter of the cost of attention. As "
          "the convolutions know where a token lies, there is no positional encoding at all. A "
          "class token joins the last stage. Of the searched network, `cvt_13_nas`, the size "
          "is published and an outline: keys with stride 2 and MLPs of ratio 2 at the beginning "
          "and "
          "the end, stride 1 and ratio 4 in most layers between. Read as the three stages this "
          "gives 14.1M parameters, not the published 18M; so it is read over the 13 blocks, and "
          "which of them are the middle is our choice (5 to 11 have ratio 4, 6 to 9 stride 1). The "
          "accuracy published for it is not to be expected.",
      .paper = "Wu et al., \"CvT: Introducing Convolutions to Vision Transformers\" (2021)",
      .shown = "cvt_13",
      .blocks = {"stage#.blocks.#"},
      .recipes = {"cvt-cifar10"},
      .weights = {{"the authors", {"cvt"}}, {"Hugging Face", {"hugging_face_cvt"}}},
  };
}

ModelFamily t2t_family() {
  return {
      .name = "T2T-ViT",
      .figure = "t2t",
      .prefixes = {"t2t_"},
      .idea =
          "Tokens-to-Token ViT does not cut patches once but makes tokens step by step: "
          "overlapping "
          "windows of pixels become tokens, an attention layer mixes them, the tokens are laid out "
          "as "
          "a map again, and overlapping windows of that map become fewer tokens. After two such "
          "layers the edges and textures that span patches are part of the tokens, and a ViT of "
          "small dimension and many blocks follows. The token layers see 56 × 56 tokens, where "
          "attention over all pairs is expensive: variants named `t2t_vit_t_` compute it all the "
          "same, the others use a Performer, whose cost is linear in the tokens.",
      .paper =
          "Yuan et al., \"Tokens-to-Token ViT: Training Vision Transformers from Scratch on "
          "ImageNet\" (2021)",
      .shown = "t2t_vit_t_14",
      .blocks = {"tokens_to_token.attention#", "blocks.#"},
      .recipes = {"t2t-cifar10"},
      .weights = {{"the authors", {"t2t_vit", "t2t_vit_t"}}},
  };
}

ModelFamily tnt_family() {
  return {
      .name = "TNT",
      .figure = "tnt",
      .prefixes = {"tnt_"},
      .idea =
          "Transformer in Transformer treats a patch as a sentence of words, 16 in each "
          "patch of 16 × 16 pixels. "
          "In every block an inner transformer mixes the words of each patch, a linear layer adds "
          "them to the token of the patch, and an outer transformer, that of ViT, mixes the "
          "patches. "
          "So the details inside a patch take part in all blocks, not in the first projection "
          "alone. "
          "The inner transformer is small, and its attention never leaves the patch, so it costs "
          "little: about a seventh more multiply-adds than the ViT of the same size.",
      .paper = "Han et al., \"Transformer in Transformer\" (2021)",
      .shown = "tnt_s",
      .blocks = {"blocks.#"},
      .recipes = {"tnt-cifar10"},
      .weights = {{"the authors", {"tnt"}}, {"timm", {"timm_tnt"}}},
  };
}

ModelFamily cct_family() {
  return {
      .name = "CCT",
      .figure = "cct",
      .prefixes = {"cct_"},
      .idea =
          "The Compact Convolutional Transformer is made for small data sets. One or two "
          "convolutions "
          "with pooling take the place of patches, so that tokens overlap, and there is no class "
          "token: sequence pooling weighs the last tokens by a softmax over a learned score of "
          "each and takes their mean. Few blocks of a small dimension follow the convolutions, and "
          "the image keeps many tokens. The names count blocks, kernel size and convolutions: "
          "`cct_7_3x1` has seven blocks behind one convolution of 3 × 3. The second norm of a "
          "block "
          "acts on the residual stream, as in the authors' code; our recipes take plain pre-norm "
          "blocks (`norm_stream: false`), with which their results were measured.",
      .paper =
          "Hassani et al., \"Escaping the Big Data Paradigm with Compact Transformers\" (2021)",
      .shown = "cct_7_3x1",
      .blocks = {"blocks.#"},
      .recipes = {"cct2-cifar10", "demo-cifar10"},
      .weights = {{"the authors", {"cct"}}},
  };
}

ModelFamily resnet_family() {
  return {
      .name = "ResNet",
      .figure = "resnet",
      .prefixes = {"resnet"},
      .idea =
          "The convolutional network that the others are compared with. Residual connections "
          "around "
          "every two or three convolutions let gradients pass many layers; four stages halve the "
          "resolution and double the channels. ResNet-18 and -34 have blocks of two 3 × 3 "
          "convolutions, the larger ones bottlenecks of 1 × 1, 3 × 3 and 1 × 1. Weights are shared "
          "over all positions and each sees its neighbourhood alone, an inductive bias that suits "
          "small data sets. As the backbone of a hybrid it makes the tokens of a ViT.",
      .paper = "He et al., \"Deep Residual Learning for Image Recognition\" (2016)",
      .shown = "resnet50",
      .blocks = {"layer#.#"},
      .recipes = {"resnet-cifar10", "resnet18-cifar10"},
      .weights = {{"torchvision and timm",
                   {"torchvision_resnet18", "torchvision_resnet34", "torchvision_resnet50",
                    "torchvision_resnet101", "torchvision_resnet152"}},
                  {"Keras", {"keras_resnet50"}}},
  };
}

ModelFamily sparse_family() {
  return {
      .name = "Sparse Transformer",
      .figure = "sparse",
      .prefixes = {"sparse_"},
      .idea =
          "A causal transformer that generates images or text byte by byte: an image of CIFAR-10 "
          "is a "
          "sequence of 3072 bytes, and each is predicted from those before it. Attention over all "
          "pairs would cost the square of that, so each head attends along a sparse attention "
          "pattern of two factors, such as a window of the last bytes and every 64th byte before "
          "them: any two positions are connected in two steps, at a cost of n √n for n bytes. The "
          "quality is measured in bits per dim. Row, column and channel have learned position "
          "embeddings, whose sum is added to that of the byte.",
      .paper = "Child et al., \"Generating Long Sequences with Sparse Transformers\" (2019)",
      .shown = "sparse_c10",
      .blocks = {"blocks.#"},
      .recipes = {"sparse-tiny", "sparse-c10", "sparse-text"},
      .weights = {{"OpenAI", {"openai_sparse"}}},
  };
}

ModelFamily igpt_family() {
  return {
      .name = "iGPT",
      .figure = "igpt",
      .prefixes = {"igpt_"},
      .idea =
          "GPT-2 over pixels: an image is a sequence of colours out of a palette of 512, row by "
          "row, and each is "
          "predicted from those before it by dense causal attention, whose cost grows with the "
          "square of the number of "
          "pixels, so images stay small (32 × 32). No convolution and no patch tells the network "
          "that pixels have "
          "neighbours. It generates and completes images; the features of a layer in the middle, "
          "averaged over the "
          "pixels, serve a linear probe. Norms divide by the root mean square alone, and no layer "
          "has a bias. "
          "`igpt_c10` sees CIFAR-10 at 16 × 16 pixels.",
      .paper = "Chen et al., \"Generative Pretraining from Pixels\" (2020)",
      .shown = "igpt_s",
      .blocks = {"blocks.#"},
      .recipes = {"igpt-cifar10"},
      .weights = {{"Hugging Face", {"hugging_face_igpt"}}},
  };
}

}  // namespace

bool ModelFamily::has(const std::string& model) const {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](const auto& prefix) { return model.starts_with(prefix); });
}

const std::vector<ModelFamily>& model_families() {
  static const std::vector<ModelFamily> families = {
      vit_family(), hybrid_family(), swin_family(),   pvt_family(),    cvt_family(), t2t_family(),
      tnt_family(), cct_family(),    resnet_family(), sparse_family(), igpt_family()};
  return families;
}

const std::vector<OtherModel>& other_models() {
  static const std::vector<OtherModel> list = {{"addition_cnn", "addition-cnn"},
                                               {"addition_transformer", "addition-transformer"},
                                               {"wave_transformer", "wave-transformer"},
                                               {"wave_rnn", "wave-rnn"},
                                               {"word_transformer", "word-transformer"}};
  return list;
}

}  // namespace vitrine
