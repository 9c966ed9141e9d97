#include "vitrine/inspect/summary.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <nlohmann/json.hpp>

#include "tests/support/errors.h"
#include "vitrine/core/settings.h"
#include "vitrine/models/model.h"
#include "vitrine/models/registry.h"
#include "vitrine/models/shapes_only.h"

namespace vitrine {
namespace {

ModelChoice choice(const std::string& name, const std::vector<std::string>& settings = {}) {
  auto tree = Settings::from_text("name: " + name, "test");
  for (const auto& assignment : settings) tree.override_with(assignment);
  ModelChoice result;
  tree.read_into(result);
  return result;
}

double giga(const ModelSummary& s) { return static_cast<double>(s.multiply_adds) / 1e9; }
double mega(const ModelSummary& s) { return static_cast<double>(s.parameters) / 1e6; }

const LayerSummary& layer(const ModelSummary& s, const std::string& name) {
  for (const auto& l : s.layers)
    if (l.name == name) return l;
  ADD_FAILURE() << "no layer " << name;
  return s.layers.front();
}

int64_t parameters_under(const ModelSummary& s, const std::string& prefix) {
  int64_t sum = 0;
  for (const auto& l : s.layers)
    if (l.name.starts_with(prefix)) sum += l.parameters;
  return sum;
}

using Shape = std::vector<int64_t>;

/// What a paper says of a model: parameters, exact, and multiply-adds (G), rounded there.
struct PublishedSize {
  std::string model;
  int64_t image, parameters;
  double giga;
};

void expect_published(const std::vector<PublishedSize>& sizes) {
  for (const auto& [model, image, parameters, published] : sizes) {
    const auto s = summarize(choice(model, {fmt::format("image={}", image)}));
    EXPECT_EQ(s.parameters, parameters) << model;
    EXPECT_NEAR(giga(s), published, std::max(0.05, 0.03 * published)) << model << " at " << image;
  }
}

}  // namespace

TEST(Summary, CountsVitB16AsPublished) {
  const auto s = summarize(choice("vit_b16"));
  EXPECT_EQ(s.parameters, 86'567'656);
  EXPECT_EQ(s.trainable, 86'567'656);
  EXPECT_NEAR(giga(s), 17.58, 0.005);
  const auto large = summarize(choice("vit_b16", {"image=384"}));
  EXPECT_NEAR(mega(large), 86.86, 0.005);
  EXPECT_NEAR(giga(large), 55.54, 0.005);
}

TEST(Summary, CountsVitL16AsPublished) {
  const auto s = summarize(choice("vit_l16", {"image=384"}));
  EXPECT_NEAR(mega(s), 304.72, 0.005);
  EXPECT_NEAR(giga(s), 191.2, 0.05);
}

TEST(Summary, CountsVitH14AndDeitAsPublished) {
  EXPECT_EQ(summarize(choice("vit_h14")).parameters, 632'045'800);
  EXPECT_EQ(summarize(choice("deit_ti16")).parameters, 5'717'416);
  EXPECT_EQ(summarize(choice("deit_s16")).parameters, 22'050'664);
  EXPECT_EQ(summarize(choice("deit_b16")).parameters, 86'567'656);
  EXPECT_EQ(summarize(choice("deit_ti16_distilled")).parameters, 5'910'800);
  EXPECT_EQ(summarize(choice("deit_s16_distilled")).parameters, 22'436'432);
  EXPECT_EQ(summarize(choice("deit_b16_distilled")).parameters, 87'338'192);
  EXPECT_EQ(summarize(choice("deit_b16_distilled", {"image=384"})).parameters, 87'630'032);
}

TEST(Summary, CountsResNet18AsPublished) {
  const auto s = summarize(choice("resnet18"));
  EXPECT_EQ(s.parameters, 11'689'512);
  EXPECT_NEAR(giga(s), 1.82, 0.005);
}

TEST(Summary, CountsDeeperResNetsAsPublished) {
  EXPECT_EQ(summarize(choice("resnet34")).parameters, 21'797'672);
  EXPECT_EQ(summarize(choice("resnet50")).parameters, 25'557'032);
  EXPECT_EQ(summarize(choice("resnet101")).parameters, 44'549'160);
  EXPECT_EQ(summarize(choice("resnet152")).parameters, 60'192'808);
  // Keras counts the 53,120 averages of batch normalisation as parameters: 25,636,712.
  EXPECT_EQ(summarize(choice("resnet50", {"conv_bias=true"})).parameters, 25'636'712 - 53'120);
}

TEST(Summary, CountsHybridsAsPublished) {
  const auto s = summarize(choice("r50_vit_b16"));
  EXPECT_EQ(s.parameters, 98'659'112);
  EXPECT_NEAR(giga(s), 21.66, 0.03 * 21.66);
  EXPECT_EQ(parameters_under(s, "patch_embed.backbone."), 11'894'848);
  const auto large = summarize(choice("r50_vit_b16", {"image=384"}));
  EXPECT_EQ(large.parameters, 98'950'952);
  EXPECT_NEAR(giga(large), 67.43, 0.03 * 67.43);
  EXPECT_EQ(summarize(choice("r26_vit_s32")).parameters, 36'431'912);
  EXPECT_EQ(summarize(choice("r26_vit_s32", {"image=384"})).parameters, 36'468'392);
  EXPECT_EQ(summarize(choice("r50_vit_l32")).parameters, 328'994'856);
  EXPECT_EQ(summarize(choice("r50_vit_l32", {"image=384"})).parameters, 329'092'136);
  EXPECT_EQ(summarize(choice("r_vit_ti16")).parameters, 6'337'704);
}

TEST(Summary, CountsSwinAsPublished) {
  struct Published {
    const char* model;
    int64_t parameters;
    double multiply_adds;  // in units of 10^9
  };
  for (const auto& [model, parameters, multiply_adds] :
       {Published{"swin_t", 28'288'354, 4.5}, Published{"swin_s", 49'606'258, 8.7},
        Published{"swin_b", 87'768'224, 15.4}, Published{"swin_l", 196'532'476, 34.5},
        Published{"swin_v2_t", 28'347'154, 5.9}, Published{"swin_v2_s", 49'728'418, 11.5},
        Published{"swin_v2_b", 87'918'816, 20.3}}) {
    const auto s = summarize(choice(model));
    EXPECT_EQ(s.parameters, parameters) << model;
    EXPECT_NEAR(giga(s), multiply_adds, 0.03 * multiply_adds) << model;
  }
  const auto large = summarize(choice("swin_b", {"image=384", "window=12"}));
  EXPECT_EQ(large.parameters, 87'903'584);
  EXPECT_NEAR(giga(large), 47.1, 0.03 * 47.1);
  EXPECT_EQ(summarize(choice("swin_l", {"image=384", "window=12"})).parameters, 196'735'516);
}

TEST(Summary, NamesTheLayersOfABackbone) {
  const auto s = summarize(choice("r50_vit_b16"));
  const auto& root = layer(s, "patch_embed.backbone.stem.conv");
  EXPECT_EQ(root.kind, "StdConv2d");
  EXPECT_EQ(root.output, (Shape{1, 64, 112, 112}));
  EXPECT_EQ(root.parameters, 64 * 3 * 7 * 7);
  EXPECT_EQ(root.multiply_adds, int64_t{64} * 112 * 112 * 3 * 7 * 7);
  const auto& norm = layer(s, "patch_embed.backbone.stem.norm");
  EXPECT_EQ(norm.kind, "GroupNorm");
  EXPECT_EQ(norm.multiply_adds, 5 * 64 * 112 * 112);
  EXPECT_EQ(layer(s, "patch_embed.proj").output, (Shape{1, 196, 768}));
}

TEST(Summary, CountsPvtAsPublished) {
  expect_published({{"pvt_tiny", 224, 13'229'288, 1.9},
                    {"pvt_small", 224, 24'485'864, 3.8},
                    {"pvt_medium", 224, 44'208'104, 6.7},
                    {"pvt_large", 224, 61'369'320, 9.8},
                    {"pvt_v2_b0", 224, 3'666'760, 0.6},
                    {"pvt_v2_b1", 224, 14'009'000, 2.1},
                    {"pvt_v2_b2", 224, 25'362'856, 4.0},
                    {"pvt_v2_b3", 224, 45'238'696, 6.9},
                    {"pvt_v2_b4", 224, 62'556'072, 10.1},
                    {"pvt_v2_b5", 224, 81'956'008, 11.8}});
}

TEST(Summary, CountsReducedKeysOnce) {
  const auto s = summarize(choice("pvt_tiny"));
  const auto& reduction = layer(s, "block1.0.attn.sr");
  EXPECT_EQ(reduction.output, (Shape{1, 64, 7, 7}));
  EXPECT_EQ(reduction.multiply_adds, int64_t{64} * 7 * 7 * 64 * 8 * 8);
  EXPECT_EQ(layer(s, "block1.0.attn.kv").multiply_adds, 49 * 64 * 128);
  const auto& attention = layer(s, "block1.0.attn.attention");
  EXPECT_EQ(attention.output, (Shape{1, 3136, 64}));
  EXPECT_EQ(attention.keys, 49);
  EXPECT_EQ(attention.heads, 1);
  EXPECT_EQ(attention.multiply_adds, 2 * 3136 * 49 * 64);
}

TEST(Summary, CountsCvtAsPublished) {
  expect_published({{"cvt_13", 224, 19'997'480, 4.5},
                    {"cvt_13", 384, 19'997'480, 16.3},
                    {"cvt_21", 224, 31'622'696, 7.1},
                    {"cvt_21", 384, 31'622'696, 24.9},
                    {"cvt_w24", 384, 277'196'392, 193.2},
                    {"cvt_13_nas", 224, 17'913'512, 4.1}});
}

TEST(Summary, CountsCctAsItsPaper) {
  EXPECT_EQ(summarize(choice("cct_2_3x2")).parameters, 283'723);
  EXPECT_EQ(summarize(choice("cct_4_3x2")).parameters, 482'123);
  EXPECT_EQ(summarize(choice("cct_6_3x1")).parameters, 3'233'803);
  EXPECT_EQ(summarize(choice("cct_7_3x1")).parameters, 3'760'139);
  EXPECT_EQ(summarize(choice("cct_14_7x2")).parameters, 22'367'273);
}

TEST(Summary, CountsT2tVitAsPublished) {
  struct Case {
    const char* name;
    int64_t parameters;
    double giga;
  };
  for (const auto& c :
       {Case{"t2t_vit_7", 4'255'694, 1.1}, Case{"t2t_vit_10", 5'834'702, 1.5},
        Case{"t2t_vit_12", 6'887'374, 1.8}, Case{"t2t_vit_14", 21'465'806, 4.8},
        Case{"t2t_vit_19", 39'085'070, 8.5}, Case{"t2t_vit_24", 64'000'974, 13.8},
        Case{"t2t_vit_t_14", 21'465'422, 6.1}, Case{"t2t_vit_t_19", 39'084'686, 9.8},
        Case{"t2t_vit_t_24", 64'000'590, 15.0}}) {
    const auto s = summarize(choice(c.name));
    EXPECT_EQ(s.parameters, c.parameters) << c.name;
    EXPECT_NEAR(giga(s), c.giga, std::max(0.03 * c.giga, 0.06)) << c.name;  // rounded to a tenth
  }
}

TEST(Summary, CountsTntAsPublished) {
  const auto small = summarize(choice("tnt_s")), base = summarize(choice("tnt_b"));
  EXPECT_EQ(small.parameters, 23'768'584);
  EXPECT_EQ(base.parameters, 65'428'680);
  EXPECT_NEAR(giga(small), 5.2, 0.03 * 5.2);
  EXPECT_NEAR(giga(base), 14.1, 0.03 * 14.1);
  const auto& words = layer(small, "blocks.0.inner_attn.attention");
  EXPECT_EQ(words.output, (Shape{196, 16, 24}));
  EXPECT_EQ(words.multiply_adds, 2 * 16 * 196 * 16 * 24);
}

TEST(Summary, CountsIgptAsPublished) {
  const auto small = summarize(choice("igpt_s"));
  EXPECT_EQ(small.parameters, 76'571'648);
  EXPECT_EQ(summarize(choice("igpt_m")).parameters, 455'157'760);
  EXPECT_EQ(summarize(choice("igpt_l")).parameters, 1'362'250'752);
  EXPECT_EQ(layer(small, "blocks.0.norm1").kind, "RMSNorm");
  EXPECT_EQ(layer(small, "blocks.0.norm1").parameters, 512);
  EXPECT_EQ(layer(small, "head").parameters, 512 * 512);
  EXPECT_EQ(parameters_under(small, "blocks.23."), 12 * 512 * 512 + 2 * 512);
}

TEST(Summary, SplitsThe302MNetworkIntoItsParts) {
  const auto s = summarize(choice("vit_c10_302m"));
  EXPECT_EQ(s.parameters, 302'520'350);
  EXPECT_EQ(layer(s, "patch_embed.proj").parameters, 197'632);
  EXPECT_EQ(layer(s, "cls_token").parameters, 1'024);
  for (int64_t i = 0; i < 24; ++i)
    EXPECT_EQ(parameters_under(s, "blocks." + std::to_string(i) + "."), 12'596'224);
  EXPECT_EQ(layer(s, "norm").parameters, 2'048);
  EXPECT_EQ(layer(s, "token_head.fc").parameters, 10'250);
  EXPECT_EQ(layer(s, "token_head.norm").parameters, 20);
}

TEST(Summary, NamesLayersInTheOrderOfTheForwardPass) {
  const auto s = summarize(choice("vit_c10_small", {"depth=1"}));
  std::vector<std::string> names, kinds;
  for (const auto& l : s.layers) {
    names.push_back(l.name);
    kinds.push_back(l.kind);
  }
  EXPECT_EQ(names,
            (std::vector<std::string>{
                "patch_embed.proj", "cls_token", "pos_embed", "blocks.0.norm1", "blocks.0.attn.qkv",
                "blocks.0.attn.attention", "blocks.0.attn.proj", "blocks.0.norm2",
                "blocks.0.mlp.fc1", "blocks.0.mlp.gelu", "blocks.0.mlp.fc2", "norm", "head"}));
  EXPECT_EQ(kinds, (std::vector<std::string>{"Linear", "Parameter", "Parameter", "LayerNorm",
                                             "Linear", "Attention", "Linear", "LayerNorm", "Linear",
                                             "GELU", "Linear", "LayerNorm", "Linear"}));
}

TEST(Summary, GivesShapesAndCostOfEachLayer) {
  const auto s = summarize(choice("vit_c10_small"));
  const auto& qkv = layer(s, "blocks.3.attn.qkv");
  EXPECT_EQ(qkv.input, (Shape{1, 65, 192}));
  EXPECT_EQ(qkv.output, (Shape{1, 65, 576}));
  EXPECT_EQ(qkv.parameters, 192 * 576 + 576);
  EXPECT_EQ(qkv.multiply_adds, 65 * 192 * 576);
  const auto& attention = layer(s, "blocks.3.attn.attention");
  EXPECT_EQ(attention.input, (Shape{1, 65, 3, 3, 64}));
  EXPECT_EQ(attention.output, (Shape{1, 65, 192}));
  EXPECT_EQ(attention.multiply_adds, 2 * 65 * 65 * 192);
  EXPECT_EQ(layer(s, "norm").multiply_adds, 5 * 65 * 192);
  EXPECT_EQ(layer(s, "blocks.3.mlp.gelu").multiply_adds, 0);
}

TEST(Summary, GivesConvolutionsTheirShapes) {
  const auto s = summarize(choice("resnet18"));
  EXPECT_EQ(s.layers[0].kind, "Conv2d");
  EXPECT_EQ(s.layers[0].output, (Shape{1, 64, 112, 112}));
  EXPECT_EQ(s.layers[0].multiply_adds, int64_t{64} * 112 * 112 * 3 * 7 * 7);
  EXPECT_EQ(s.layers[1].kind, "BatchNorm2d");
  EXPECT_EQ(s.layers[1].multiply_adds, 2 * 64 * 112 * 112);
  EXPECT_EQ(s.layers[2].name, "relu");
  EXPECT_EQ(s.layers[3].kind, "MaxPool2d");
  EXPECT_EQ(s.layers[3].output, (Shape{1, 64, 56, 56}));
}

TEST(Summary, IsTheSameWithRealWeights) {
  for (const auto* name :
       {"cct_2_3x2", "vit_c10_small", "resnet18", "r_vit_ti16", "hybrid_c10_tiny", "pvt_c10",
        "pvt_v2_c10", "cvt_c10", "tnt_c10", "swin_c10", "swin_v2_c10", "addition_transformer",
        "wave_transformer", "wave_rnn"}) {
    const auto chosen = choice(name);
    const auto model = chosen.build();
    model->train();
    EXPECT_EQ(summary_json(name, summarize(*model)), summary_json(name, summarize(chosen)));
    EXPECT_TRUE(model->is_training());
  }
}

TEST(Summary, CountsRecurrentLayersAsOneRow) {
  for (const auto& [cell, gates] :
       {std::pair("rnn", 1), std::pair("lstm", 4), std::pair("gru", 3)}) {
    const auto s = summarize(choice("wave_rnn", {std::string("cell=") + cell}));
    const auto& recurrent = layer(s, cell);
    EXPECT_EQ(recurrent.input, (Shape{1, 20, 1}));
    EXPECT_EQ(recurrent.output, (Shape{1, 20, 64}));
    EXPECT_EQ(recurrent.parameters, gates * (64 * 1 + 64 * 64 + 2 * 64));
    EXPECT_EQ(recurrent.multiply_adds, gates * 20 * 64 * (1 + 64));
    EXPECT_EQ(s.layers.size(), 2u);
  }
}

TEST(Summary, ShowsTheBiasOfRelativePositions) {
  const auto s = summarize(choice("word_transformer", {"positions=relative", "layers=1"}));
  EXPECT_EQ(layer(s, "embedding").parameters, 419 * 64);
  EXPECT_EQ(layer(s, "blocks.0.attn.relative_bias").parameters, 4 * 31);
}

TEST(Summary, CountsLessForAttentionOfLinearCost) {
  const std::vector<std::string> many = {"image=384", "patch=8", "depth=1"};  // 2305 tokens
  const auto all_pairs = summarize(choice("vit_ti16", many));
  for (const auto* kind : {"linformer", "performer", "reformer"}) {
    auto settings = many;
    settings.push_back(std::string("attention.kind=") + kind);
    const auto s = summarize(choice("vit_ti16", settings));
    EXPECT_LT(s.multiply_adds, 0.7 * all_pairs.multiply_adds) << kind;
    EXPECT_EQ(parameters_under(s, ""), s.parameters) << kind;
  }
}

TEST(Summary, AddsUpForEveryModel) {
  for (const auto& [name, entry] : models()) {
    const auto s = summarize(ModelChoice(name));
    const ShapesOnly shapes_only;
    int64_t expected = 0;
    for (const auto& p : ModelChoice(name).build()->parameters()) expected += p.numel();
    int64_t rows = 0;
    for (const auto& l : s.layers) rows += l.parameters;
    EXPECT_EQ(s.parameters, expected) << name;
    EXPECT_EQ(rows, expected) << name;
    EXPECT_GT(s.multiply_adds, 0) << name;
  }
}

TEST(Summary, PrintsTotalsAndSizes) {
  const auto s = summarize(choice("vit_c10_302m"));
  const auto text = summary_text("vit_c10_302m", s);
  EXPECT_TRUE(test::contains(text, "302,520,350"));
  EXPECT_TRUE(test::contains(text, "12,596,224"));
  EXPECT_TRUE(test::contains(text, "Parameters size (MB)                     1210.08"));
  EXPECT_TRUE(test::contains(text, "Input size (MB)                             0.01"));
  EXPECT_EQ(s.input_bytes, 3 * 32 * 32 * 4);
  const auto json = nlohmann::json::parse(summary_json("vit_c10_302m", s));
  EXPECT_EQ(json["parameters"], 302'520'350);
  EXPECT_EQ(json["layers"].size(), s.layers.size());
}

TEST(ShapesOnly, EndsWithItsScope) {
  {
    const ShapesOnly shapes_only;
    EXPECT_TRUE(torch::zeros({1000, 1000, 1000, 1000}).is_meta());
  }
  EXPECT_TRUE(torch::zeros({2}).is_cpu());
}

}  // namespace vitrine
