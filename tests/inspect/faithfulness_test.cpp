#include "vitrine/inspect/explain/faithfulness.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "tests/support/errors.h"
#include "tests/support/small_model.h"
#include "vitrine/inspect/explain/perturbation.h"

namespace vitrine {
namespace {

/// Its answer depends on the top left quarter of the image alone.
class CornerModel : public Model {
 public:
  torch::Tensor features(const torch::Tensor& x) override {
    return x.narrow(2, 0, 4).narrow(3, 0, 4).mean({1, 2, 3}).unsqueeze(1);
  }
  torch::Tensor logits(const torch::Tensor& features) override {
    return torch::cat({features, torch::zeros_like(features)}, 1);
  }
  torch::Tensor example_input(int64_t batch) const override {
    return torch::full({batch, 3, 8, 8}, 5.0);
  }
};

MethodMap map_of(ExplainMethod method, std::vector<double> values, int64_t side = 2) {
  return {method, {.multiples = {side, side, std::move(values)}, .tokens = side * side}};
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

PerturbationCurves curves(const std::string& method, double deletion, double insertion) {
  return {method, {deletion, deletion}, {insertion, insertion}};
}

}  // namespace

TEST(Perturbation, FallsWhenTheRelevantPartGoesAndRisesWhenItComes) {
  CornerModel model;
  const auto x = model.example_input(1);
  const auto result = perturbation_curves(
      model, x, 0,
      {map_of(ExplainMethod::Rollout, {4, 3, 2, 1}), map_of(ExplainMethod::GradCam, {1, 2, 3, 4})},
      7);
  ASSERT_EQ(result.size(), 3u);
  EXPECT_EQ(result[2].method, kRandomOrder);
  const auto &right = result[0], &wrong = result[1];
  ASSERT_EQ(right.deletion.size(), kPerturbationSteps + 1);
  // A quarter of the image is one of the four cells: rounded, it goes at step 3 of 20.
  EXPECT_NEAR(right.deletion[2], sigmoid(5), 1e-6);
  EXPECT_NEAR(right.deletion[3], 0.5, 1e-6);
  EXPECT_NEAR(right.insertion[2], 0.5, 1e-6);
  EXPECT_NEAR(right.insertion[3], sigmoid(5), 1e-6);
  EXPECT_NEAR(wrong.deletion[17], sigmoid(5), 1e-6);
  EXPECT_NEAR(wrong.deletion[18], 0.5, 1e-6);
  EXPECT_LT(area_under(right.deletion), area_under(wrong.deletion));
  EXPECT_GT(area_under(right.insertion), area_under(wrong.insertion));
}

TEST(Perturbation, BeginsAndEndsWithTheWholeAndTheBlankImage) {
  torch::manual_seed(1);
  const auto model = test::small("vit_c10_small").build();
  model->eval();
  const auto x = model->example_input(1);
  const torch::NoGradGuard no_grad;
  const auto probability = [&](const torch::Tensor& image) {
    return model->forward(image).softmax(1)[0][3].item<double>();
  };
  const double whole = probability(x), blank = probability(torch::zeros_like(x));
  EXPECT_GT(std::abs(whole - blank), 1e-4);
  const auto result = perturbation_curves(
      *model, x, 3, {map_of(ExplainMethod::GradCam, std::vector<double>(16, 1), 4)}, 1);
  for (const auto& curve : result) {
    EXPECT_NEAR(curve.deletion.front(), whole, 1e-5);
    EXPECT_NEAR(curve.deletion.back(), blank, 1e-5);
    EXPECT_NEAR(curve.insertion.front(), blank, 1e-5);
    EXPECT_NEAR(curve.insertion.back(), whole, 1e-5);
  }
}

TEST(Perturbation, BreaksTiesAtRandomAndBringsCoarseMapsToTheFinestGrid) {
  CornerModel model;
  const auto x = model.example_input(1);
  const auto flat = map_of(ExplainMethod::Relevance, std::vector<double>(16, 1), 4);
  const auto result =
      perturbation_curves(model, x, 0, {map_of(ExplainMethod::Rollout, {4, 1, 1, 1}), flat}, 7);
  EXPECT_EQ(result[1].deletion, result[2].deletion);  // a flat map is the random order
  // Four of sixteen cells are the corner; the interpolated map has it first.
  EXPECT_NEAR(result[0].deletion[5], 0.5, 1e-6);
  EXPECT_GT(result[0].deletion[4], 0.5);
  const auto other = perturbation_curves(model, x, 0, {flat}, 8);
  EXPECT_NE(other[0].deletion, result[1].deletion);
}

TEST(Faithfulness, AreasAreMeansByTheTrapezoidRule) {
  EXPECT_DOUBLE_EQ(area_under({1, 1, 1}), 1);
  EXPECT_DOUBLE_EQ(area_under({1, 0}), 0.5);
  EXPECT_DOUBLE_EQ(area_under({1, 1, 0}), 0.75);
  EXPECT_TRUE(test::contains(test::error_of([] { area_under({1}); }), "1 points"));
}

TEST(Faithfulness, ComparesMethodsImageByImage) {
  const auto scores = faithfulness({{curves("a", 0.2, 0.7), curves(kRandomOrder, 0.5, 0.5)},
                                    {curves("a", 0.4, 0.6), curves(kRandomOrder, 0.3, 0.6)},
                                    {curves("a", 0.1, 0.8), curves(kRandomOrder, 0.5, 0.5)}});
  ASSERT_EQ(scores.size(), 2u);
  EXPECT_NEAR(scores[0].deletion_area.mean, 0.7 / 3, 1e-12);
  EXPECT_NEAR(scores[0].insertion_area.mean, 0.7, 1e-12);
  EXPECT_EQ(scores[0].beats_random, 2);
  EXPECT_NEAR(scores[0].gains[2], 0.7, 1e-12);
  const auto table = faithfulness_table(scores);
  EXPECT_EQ(table.rows[0][4], "2 of 3");
  EXPECT_TRUE(test::contains(table.rows[0][1], "0.233 ± 0.088"));
  EXPECT_TRUE(test::contains(faithfulness_csv(scores), "a,0.05,0.233333,0.700000"));
}

TEST(Faithfulness, SaysWhenTheImagesDoNotTellMethodsApart) {
  const auto clear = faithfulness({{curves("a", 0.1, 0.9), curves("b", 0.5, 0.5)},
                                   {curves("a", 0.1, 0.8), curves("b", 0.5, 0.5)}});
  EXPECT_TRUE(test::contains(faithfulness_text(clear), "a is the most faithful of these"));
  const auto open = faithfulness({{curves("a", 0.1, 0.9), curves("b", 0.5, 0.5)},
                                  {curves("a", 0.5, 0.5), curves("b", 0.2, 0.8)}});
  EXPECT_TRUE(test::contains(faithfulness_text(open), "do not tell them apart"));
  const auto one = faithfulness({{curves("a", 0.1, 0.9), curves("b", 0.5, 0.5)}});
  EXPECT_TRUE(test::contains(faithfulness_text(one), "One image cannot show"));
}

}  // namespace vitrine
