#include "vitrine/inspect/explain.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <algorithm>
#include <numeric>

#include "tests/support/errors.h"
#include "tests/support/small_checkpoint.h"
#include "tests/support/small_model.h"
#include "tests/support/temporary_folder.h"
#include "vitrine/core/image_files.h"
#include "vitrine/data/image_batches.h"
#include "vitrine/inspect/explain/gallery.h"
#include "vitrine/inspect/explain_figures.h"
#include "vitrine/inspect/rollout.h"
#include "vitrine/nn/attention_capture.h"

namespace vitrine {
namespace {

/// A coloured ramp, wider than high.
Image ramp() {
  Image image(40, 20);
  for (int64_t y = 0; y < image.height; ++y)
    for (int64_t x = 0; x < image.width; ++x) {
      auto* pixel = image.at(x, y);
      pixel[0] = static_cast<uint8_t>(6 * x);
      pixel[1] = static_cast<uint8_t>(12 * y);
      pixel[2] = 90;
    }
  return image;
}

const AttentionMap& rollout_of(const Explanation& e) { return *e.map(ExplainMethod::Rollout); }

double sum(const AttentionMap& map) {
  return std::accumulate(map.multiples.values.begin(), map.multiples.values.end(), 0.0);
}

class Explain : public testing::Test {
 protected:
  LoadedCheckpoint load(const std::string& model, const std::vector<std::string>& settings) {
    const auto path = folder_ / "model.safetensors";
    test::save_small_checkpoint(path, model, settings);
    return load_checkpoint(path);
  }

  test::TemporaryFolder folder_;
};

}  // namespace

TEST_F(Explain, TellsWhatAVitLooksAt) {
  const auto e = explain(load("vit_c10_small", test::kSmallVit), ramp());
  EXPECT_TRUE(e.class_token);
  EXPECT_EQ(e.image.width, 20);  // the centre square, with all its pixels
  EXPECT_EQ(e.image.height, 20);
  ASSERT_EQ(e.heads.size(), 2);
  ASSERT_EQ(e.heads[0].size(), 2);
  EXPECT_EQ(e.heads[1][1].multiples.rows, 4);
  EXPECT_EQ(e.heads[1][1].tokens, 17);
  EXPECT_LT(sum(e.heads[0][0]), 17);  // the class token keeps a share for itself
  EXPECT_GT(sum(e.heads[0][0]), 0.8 * 17);
  EXPECT_GT(e.heads[0][0].entropy, 0.9);
  EXPECT_LE(e.heads[0][0].entropy, 1);
  EXPECT_EQ(rollout_of(e).multiples.rows, 4);
  EXPECT_EQ(rollout_of(e).multiples.columns, 4);
  EXPECT_NEAR(sum(rollout_of(e)), 16, 1e-4);
  EXPECT_GT(e.rollout_kept, 0.2);  // a quarter through two residual connections
  EXPECT_EQ(e.positions.rows, 16);
  EXPECT_NEAR(e.positions.at(5, 5), 1, 1e-5);
  ASSERT_EQ(e.predictions.size(), 4);
  EXPECT_GE(e.predictions[0].probability, e.predictions[1].probability);
}

TEST_F(Explain, AveragesOverTokensWithoutClassToken) {
  const auto e = explain(load("cct_2_3x2", {}), ramp());
  EXPECT_FALSE(e.class_token);
  ASSERT_EQ(e.heads.size(), 2);
  EXPECT_NEAR(sum(e.heads[0][0]), 16, 1e-4);
  EXPECT_NEAR(sum(rollout_of(e)), 16, 1e-4);
  EXPECT_NEAR(e.rollout_kept, 0, 1e-5);
}

TEST_F(Explain, ReadsATokensShareInThePoolOfACct) {
  const auto cct = load("cct_2_3x2", {});
  const auto x = torch::rand({1, 3, 16, 16});
  AttentionCapture capture;
  const torch::NoGradGuard no_grad;
  cct.model->forward(x);
  EXPECT_EQ(capture.readout.sizes(), (std::vector<int64_t>{1, 16}));
  EXPECT_NEAR(capture.readout.sum().item<double>(), 1, 1e-5);
  EXPECT_GT(capture.readout.std().item<double>(), 1e-3);  // not the plain mean
  const auto map = attention_rollout(capture.layers, capture.readout);
  const auto plain = attention_rollout(capture.layers, torch::full({1, 16}, 1.0 / 16));
  EXPECT_FALSE(torch::allclose(map, plain, 1e-3, 1e-5));

  const auto image = ramp();
  const auto e = explain(cct, image);
  AttentionCapture again;
  cct.model->forward(preprocess(image, cct.info.preprocess.value()).unsqueeze(0));
  const auto as_tensor = [](const AttentionMap& map) {
    return torch::tensor(map.multiples.values, torch::kDouble) / map.tokens;
  };
  const auto expected = attention_rollout(again.layers, again.readout).to(torch::kDouble).flatten();
  EXPECT_TRUE(torch::allclose(as_tensor(rollout_of(e)), expected, 1e-4, 1e-6));
  EXPECT_EQ(e.readout, Readout::Weighted);
  EXPECT_TRUE(
      torch::allclose(as_tensor(e.pooling), again.readout[0].to(torch::kDouble), 1e-4, 1e-6));
}

TEST_F(Explain, EveryWayToReadTheTokensIsRecorded) {
  const torch::NoGradGuard no_grad;
  for (const auto* option : {"model.pool=token", "model.pool=mean", "model.head=token_gelu_norm"}) {
    auto settings = test::kSmallVit;
    settings.push_back(option);
    const auto vit = load("vit_c10_small", settings);
    AttentionCapture capture;
    vit.model->forward(vit.model->example_input(2));
    const bool mean = std::string(option) == "model.pool=mean";
    auto expected = torch::zeros({2, mean ? 16 : 17});
    expected.narrow(1, 0, mean ? 16 : 1).fill_(mean ? 1.0 / 16 : 1.0);
    ASSERT_TRUE(capture.readout.defined()) << option;
    EXPECT_TRUE(torch::allclose(capture.readout, expected)) << option;
    EXPECT_EQ(capture.readout_kind, mean ? Readout::Mean : Readout::Token) << option;
  }
}

TEST_F(Explain, SaysHowTheImageBecomesTokensAndWhatReadsThem) {
  auto mean = test::kSmallVit;
  mean.push_back("model.pool=mean");
  const auto vit = explain(load("vit_c10_small", test::kSmallVit), ramp());
  EXPECT_EQ(tokens_text(vit),
            "The image, resized to 16 x 16 pixels, is cut into patches of 4 x 4 pixels: a grid of "
            "4 x 4.");
  EXPECT_EQ(readout_text(vit), "the class token");
  EXPECT_EQ(readout_text(explain(load("vit_c10_small", mean), ramp())), "the mean of all tokens");
  const auto cct = explain(load("cct_2_3x2", {}), ramp());
  EXPECT_TRUE(test::contains(tokens_text(cct), "overlapping convolutional tokenizer makes 4 x 4"));
  EXPECT_TRUE(test::contains(tokens_text(cct), "Each token sees 13 x 13 pixels"));
  EXPECT_EQ(tokens_text(cct).find("cut"), std::string::npos);
  EXPECT_EQ(readout_text(cct), "the sequence pooling");
}

TEST_F(Explain, TitleAndCaptionOfTheRolloutAgree) {
  const auto cct = explain(load("cct_2_3x2", {}), ramp());
  const auto figure = rollout_figure(cct);
  EXPECT_EQ(figure.title, "Attention rollout: how much of each token reaches the sequence pooling");
  ASSERT_EQ(figure.panels.size(), 4u);  // image, pooling, rollout, both
  EXPECT_TRUE(test::contains(std::get<plot::HeatMap>(figure.panels[1]).title, "Pooling weights"));
  const auto page = read_file(write_explanation(cct, "x", folder_ / "cct").back());
  EXPECT_TRUE(test::contains(page, "How much of each token reaches the sequence pooling, as"));
  EXPECT_EQ(page.find("patch"), std::string::npos);
  EXPECT_EQ(rollout_figure(explain(load("vit_c10_small", test::kSmallVit), ramp())).panels.size(),
            3u);
}

TEST_F(Explain, MapsOfUniformAttentionAreWhiteAndSaidToBeUninformative) {
  const auto vit = load("vit_c10_small", test::kSmallVit);
  {
    const torch::NoGradGuard no_grad;
    for (auto& p : vit.model->named_parameters())
      if (p.key().find("attn.qkv") != std::string::npos) p.value().zero_();
  }
  const auto e = explain(vit, ramp());
  for (const auto& layer : e.heads)
    for (const auto& head : layer) {
      EXPECT_NEAR(head.entropy, 1, 1e-5);
      for (const double value : head.multiples.values) EXPECT_NEAR(value, 1, 1e-4);
    }
  EXPECT_TRUE(near_uniform(rollout_of(e)));
  const auto attention = attention_figure(e), rollout = rollout_figure(e);
  EXPECT_TRUE(
      test::contains(attention.note, "4 of 4 maps lie within 0.80–1.25 ×: close to uniform"));
  EXPECT_TRUE(
      test::contains(rollout.note, "1.00–1.00 × uniform: close to uniform, not informative"));
  EXPECT_TRUE(test::contains(attention.title, "Attention of the class token"));
  EXPECT_TRUE(std::holds_alternative<plot::ImagePanel>(attention.panels[0]));  // beside each row
  const auto& map = std::get<plot::HeatMap>(attention.panels[1]);
  EXPECT_EQ(map.title, "H 1.00; 1.00–1.00 ×");
  for (const double value : map.values.values) EXPECT_NEAR(value, 0, 1e-3);  // the scale's white
}

TEST_F(Explain, AHeadThatLooksAtOneTokenIsSaidToDoSo) {
  auto e = explain(load("vit_c10_small", test::kSmallVit), ramp());
  for (auto& layer : e.heads)
    for (auto& map : layer)
      std::fill(map.multiples.values.begin(), map.multiples.values.end(), 1.5);
  auto& head = e.heads[1][0];
  std::fill(head.multiples.values.begin(), head.multiples.values.end(), 0.0);
  head.multiples.values[3] = 17;
  head.entropy = 0;
  const auto figure = attention_figure(e);
  EXPECT_TRUE(test::contains(figure.note, "16 of 64 values lie beyond"));
  EXPECT_TRUE(test::contains(figure.note, "3 of 4 lie within 0.50–2.00 ×: weak"));
  const auto& map = std::get<plot::HeatMap>(figure.panels[4]);  // second row: image, head 1
  EXPECT_EQ(map.title, "H 0.00; 0.00–17.0 ×");
  EXPECT_EQ(map.values.values[3], kScaleDoublings);
}

TEST_F(Explain, ShowsLayersWithDifferentNumbersOfHeads) {
  auto e = explain(load("vit_c10_small", test::kSmallVit), ramp());
  e.heads[0].pop_back();
  const auto files = write_explanation(e, "x", folder_ / "heads");
  EXPECT_GT(read_image(folder_ / "heads" / "attention.png").width, 250);
}

TEST_F(Explain, WritesFiguresAndOnePage) {
  for (const auto* model : {"vit_c10_small", "cct_2_3x2"}) {
    const auto settings =
        std::string(model) == "cct_2_3x2" ? std::vector<std::string>{} : test::kSmallVit;
    const auto files = write_explanation(explain(load(model, settings), ramp()), "ramp.png",
                                         folder_ / "new" / model);
    ASSERT_EQ(files.size(), 9);
    for (const auto* name : {"prediction.png", "class_maps.png", "rollout.png", "lens.png",
                             "attention.png", "distance.png", "positions.png", "filters.png"})
      EXPECT_GT(read_image(folder_ / "new" / model / name).width, 250) << name;
    const auto page = read_file(files.back());
    EXPECT_EQ(files.back().filename(), "explain.html");
    EXPECT_TRUE(test::contains(page, "ramp.png"));
    size_t figures = 0;
    for (auto at = page.find("data:image/png"); at != std::string::npos;
         at = page.find("data:image/png", at + 1))
      ++figures;
    EXPECT_EQ(figures, 8);
  }
}

TEST_F(Explain, LeavesPositionsOutWhereThereAreNone) {
  auto settings = test::kSmallVit;
  settings.push_back("model.positions=none");
  const auto files =
      write_explanation(explain(load("vit_c10_small", settings), ramp()), "x", folder_ / "out");
  EXPECT_EQ(files.size(), 8);
  EXPECT_FALSE(fs::exists(folder_ / "out" / "positions.png"));
  EXPECT_TRUE(test::contains(read_file(files.back()), "adds no positions to its"));
}

TEST_F(Explain, ShowsGradCamWhereNoAttentionWeightsAreHeld) {
  auto settings = test::kSmallVit;
  settings.push_back("model.attention.kind=performer");
  const auto performer = load("vit_c10_small", settings);
  const auto e = explain(performer, ramp());
  EXPECT_TRUE(test::contains(e.no_attention, "performer: it never holds the weights of all pairs"));
  ASSERT_EQ(e.maps.size(), 1u);
  EXPECT_EQ(e.maps[0].method, ExplainMethod::GradCam);
  EXPECT_EQ(e.maps[0].map.multiples.rows, 4);
  EXPECT_EQ(e.lens.layers.size(), 3u);
  const auto page = read_file(write_explanation(e, "x", folder_ / "performer").back());
  EXPECT_TRUE(test::contains(page, "There are no attention maps: performer"));
}

TEST_F(Explain, ShowsGradCamOfNetworksWithoutAttention) {
  const auto resnet = load("resnet18", {"model.stem=cifar", "model.blocks=[1]"});
  const auto e = explain(resnet, ramp());
  ASSERT_EQ(e.maps.size(), 1u);
  EXPECT_EQ(e.maps[0].method, ExplainMethod::GradCam);
  EXPECT_EQ(e.maps[0].map.multiples.rows, 16);
  EXPECT_TRUE(e.heads.empty());
  EXPECT_TRUE(e.lens.layers.empty());
  const auto files = write_explanation(e, "x", folder_ / "resnet");
  EXPECT_EQ(files.size(), 4u);  // answer, class maps, filters, page
  EXPECT_TRUE(test::contains(read_file(files.back()), "it has no attention layers"));
  const auto message =
      test::error_of([&] { explain(resnet, ramp(), {.methods = {ExplainMethod::Relevance}}); });
  EXPECT_TRUE(test::contains(message, "resnet18 has no relevance: it has no attention layers"));
  EXPECT_TRUE(test::contains(message, "--method relevance"));
}

TEST_F(Explain, EveryImageClassifierHasAClassSpecificMethod) {
  for (const auto& name : models().names()) {
    torch::manual_seed(1);
    LoadedCheckpoint checkpoint{test::small(name).build(), {.model = test::small(name)}};
    if (!checkpoint.model->image_shape()) continue;
    checkpoint.model->eval();
    checkpoint.info.preprocess = Preprocess{};
    checkpoint.info.classes = {"a", "b", "c", "d", "e"};
    const auto e = explain(checkpoint, ramp(), {.target = "d"});
    EXPECT_EQ(e.target.index, 3) << name;
    int64_t specific = 0;
    for (const auto& [method, map] : e.maps) {
      specific += method != ExplainMethod::Rollout;
      EXPECT_NEAR(sum(map),
                  attention_map_range(map).high == 0 ? 0 : static_cast<double>(map.tokens), 1e-3)
          << name;
    }
    EXPECT_GE(specific, 1) << name;
    EXPECT_FALSE(e.filters.empty()) << name;
  }
}

TEST_F(Explain, ExplainsTheClassThatIsAskedFor) {
  const auto vit = load("vit_c10_small", test::kSmallVit);
  const auto likely = explain(vit, ramp());
  EXPECT_EQ(likely.target.index, likely.predictions[0].index);
  const auto least = likely.predictions.back();
  const auto by_name = explain(vit, ramp(), {.target = least.label});
  EXPECT_EQ(by_name.target.index, least.index);
  EXPECT_NEAR(by_name.target.probability, least.probability, 1e-6);
  EXPECT_NE(by_name.map(ExplainMethod::Relevance)->multiples.values,
            likely.map(ExplainMethod::Relevance)->multiples.values);
  EXPECT_EQ(rollout_of(by_name).multiples.values, rollout_of(likely).multiples.values);
  EXPECT_EQ(explain(vit, ramp(), {.target = "2"}).target.index, 2);
  EXPECT_TRUE(test::contains(test::error_of([&] { explain(vit, ramp(), {.target = "zebra"}); }),
                             "no class 'zebra'"));
}

TEST_F(Explain, TheLastLayerOfTheLensIsTheAnswer) {
  const auto e = explain(load("cct_2_3x2", {}), ramp());
  ASSERT_EQ(e.lens.layers.size(), 3u);  // the embedding and two blocks
  EXPECT_EQ(e.lens.layers.back().best.index, e.predictions[0].index);
  for (size_t i = 0; i < e.lens.followed.size(); ++i)
    EXPECT_NEAR(e.lens.layers.back().probabilities[i], e.lens.followed[i].probability, 1e-5);
}

TEST_F(Explain, RolloutsDifferByFusionAndDiscard) {
  const auto vit = load("vit_c10_small", test::kSmallVit);
  const auto mean = explain(vit, ramp());
  const auto other = explain(vit, ramp(), {.rollout = {.heads = HeadFusion::Max, .discard = 0.9}});
  EXPECT_NE(rollout_of(mean).multiples.values, rollout_of(other).multiples.values);
  const auto page = read_file(write_explanation(other, "x", folder_ / "max").back());
  EXPECT_TRUE(test::contains(page, "takes the greatest weight of all heads"));
  EXPECT_TRUE(test::contains(page, "the smallest 90 % of each layer"));
}

TEST_F(Explain, AGalleryHasAPageForEachImageAndMeansOverAll) {
  const auto vit = load("vit_c10_small", test::kSmallVit);
  Gallery gallery(folder_ / "gallery");
  auto flipped = ramp();
  std::reverse(flipped.pixels.begin(), flipped.pixels.end());
  gallery.add(explain(vit, ramp(), {.faithfulness = true}), "one.png");
  gallery.add(explain(vit, flipped, {.faithfulness = true, .weights = false}), "two #2.png");
  const auto index = gallery.save();
  const auto page = read_file(index);
  EXPECT_EQ(index, folder_ / "gallery" / "index.html");
  EXPECT_TRUE(test::contains(page, "0001-one/explain.html"));
  EXPECT_TRUE(test::contains(page, "0002-two__2/explain.html"));
  EXPECT_TRUE(test::contains(page, "insertion - deletion"));
  EXPECT_TRUE(test::contains(page, "mean over 2 images"));
  for (const auto* name : {"faithfulness.png", "distance.png", "positions.png", "filters.png"})
    EXPECT_GT(read_image(folder_ / "gallery" / name).width, 250) << name;
  EXPECT_TRUE(fs::exists(folder_ / "gallery" / "faithfulness.csv"));
  const auto inside = read_file(folder_ / "gallery" / "0002-two__2" / "explain.html");
  EXPECT_TRUE(test::contains(inside, "../index.html"));
  EXPECT_FALSE(fs::exists(folder_ / "gallery" / "0002-two__2" / "positions.png"));
  ASSERT_EQ(gallery.scores().size(), 4u);
  EXPECT_EQ(gallery.scores()[0].gains.size(), 2u);
}

TEST_F(Explain, RefusesModelsThatDoNotTakeImages) {
  const auto path = folder_ / "words.safetensors";
  const ModelChoice words("word_transformer");
  save_checkpoint(path, *words.build(), {.model = words});
  EXPECT_TRUE(test::contains(test::error_of([&] { explain(load_checkpoint(path), ramp()); }),
                             "word_transformer does not take images"));
}

}  // namespace vitrine
