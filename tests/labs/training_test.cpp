#include "vitrine/labs/training.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "tests/support/temporary_folder.h"
#include "vitrine/data/waves.h"
#include "vitrine/models/model.h"
#include "vitrine/train/evaluate.h"
#include "vitrine/train/trainer.h"

namespace vitrine::labs {

TEST(TrainInLab, KeepsTheBestWeightsAndTellsTheirScore) {
  const test::TemporaryFolder folder;
  Recipe recipe;
  Settings::from_text(
      "{name: few, model: {name: wave_rnn, hidden: 8}, data: {dataset: waves, batch: 32}, "
      "train: {epochs: 4, evaluate_every: 2, optimizer: {lr: 0.01}}}",
      "test")
      .read_into(recipe);
  const auto data = waves({.length = 8, .train = 128, .validation = 32, .test = 32}, /*seed=*/1);
  const auto run_folder = folder / "runs";
  const auto first = train_in_lab(recipe, build_for_training(recipe, data), data, run_folder);
  EXPECT_EQ(first.epochs, (std::vector<double>{2, 4}));
  EXPECT_EQ(first.train_loss.size(), 2u);
  EXPECT_EQ(first.outcome.validation_value(),
            std::min(first.validation_curve[0], first.validation_curve[1]));

  const auto model = build_for_training(recipe, data);
  const auto again = train_in_lab(recipe, model, data, run_folder);  // in place of the first run
  EXPECT_EQ(again.outcome.test, first.outcome.test);
  EXPECT_FALSE(model->is_training());
  const auto objective = make_objective(data, ObjectiveSettings(/*smoothing=*/0));
  EXPECT_EQ(evaluate(*model, *data.test, *objective, {.batch = 32}).metrics, again.outcome.test);
}

}  // namespace vitrine::labs
