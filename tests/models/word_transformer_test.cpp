#include "vitrine/models/word_transformer.h"

#include "tests/support/errors.h"
#include "tests/support/shake.h"
#include "tests/support/steps.h"
#include "vitrine/data/batch.h"
#include "vitrine/data/image_batches.h"
#include "vitrine/data/sentences.h"
#include "vitrine/train/objective.h"
#include "vitrine/train/optimizer.h"

namespace vitrine {
namespace {

const WordTransformerConfig kFewWords = {
    .vocabulary = 20, .context = 8, .dim = 16, .heads = 2, .hidden = 24, .layers = 2};

}  // namespace

TEST(WordTransformer, NoWordSeesALaterOne) {
  for (const auto kind : {PositionalEncoding::Learned, PositionalEncoding::Relative}) {
    auto config = kFewWords;
    config.positions = kind;
    torch::manual_seed(1);
    WordTransformer model(config);
    model.eval();
    const auto words = model.example_input(3);
    auto changed = words.clone();
    changed.select(1, 5).copy_((words.select(1, 5) + 1) % 20);
    const auto difference = (model.forward(words) - model.forward(changed)).abs().amax({0, 2});
    EXPECT_EQ(difference.slice(0, 0, 5).max().item<double>(), 0);
    EXPECT_GT(difference.slice(0, 5).min().item<double>(), 0);
  }
}

TEST(WordTransformer, PerformerSeesNoLaterWordEither) {
  auto config = kFewWords;
  config.attention = {.kind = AttentionKind::Performer, .features = 16};
  torch::manual_seed(1);
  WordTransformer model(config);
  model.eval();
  const auto words = model.example_input(3);
  EXPECT_TRUE(torch::allclose(model.forward(words.slice(1, 0, 3)),
                              model.forward(words).slice(1, 0, 3), 1e-4, 1e-5));
  config.attention.kind = AttentionKind::Reformer;
  EXPECT_TRUE(test::contains(test::error_of([&] { WordTransformer refused(config); }),
                             "choose attention.kind softmax or performer"));
}

TEST(WordTransformer, TheStartOfASentenceIsScoredAsInTheWhole) {
  torch::manual_seed(1);
  WordTransformer model(kFewWords);
  model.eval();
  const auto words = model.example_input(2);
  EXPECT_TRUE(torch::allclose(model.forward(words.slice(1, 0, 3)),
                              model.forward(words).slice(1, 0, 3), 1e-5, 1e-6));
}

TEST(WordTransformer, StepsGiveTheLogitsOfTheForwardPass) {
  for (const auto& [name, positions] : positional_encoding_names())
    for (const auto kind : {AttentionKind::Softmax, AttentionKind::Performer}) {
      if (positions == PositionalEncoding::Relative && kind == AttentionKind::Performer) continue;
      auto config = kFewWords;
      config.positions = positions;
      config.attention = {.kind = kind, .features = 16};
      torch::manual_seed(1);
      WordTransformer model(config);
      test::shake(model, 0.1);
      EXPECT_LT(test::step_error(model), 1e-5) << name;
    }
}

TEST(WordTransformer, LearnsFromTheSentences) {
  torch::manual_seed(1);
  DataConfig config;
  config.dataset.choose("sentences");
  config.validation = 0.1;
  const auto data = open_data(config, 1);
  WordTransformer model({.dim = 32, .hidden = 64, .layers = 1});
  const auto objective = make_objective(data, ObjectiveSettings(/*smoothing=*/0));
  Optimizer optimizer({}, model.parameter_info());
  const auto loss_on = [&](const BatchSource& source, int64_t first, int64_t count) {
    std::vector<int64_t> rows(count);
    for (auto& row : rows) row = first++ % source.size();
    const auto batch = source.load(rows, /*epoch=*/-1);
    return objective->loss(model, batch).loss;
  };
  const auto held_out = data.validation->size();
  const auto before = loss_on(*data.validation, 0, held_out).item<double>();
  EXPECT_NEAR(before, std::log(419), 0.5);  // knows nothing yet
  for (int step = 0; step < 150; ++step) {
    loss_on(*data.train, 32 * step, 32).backward();
    optimizer.step(/*lr=*/3e-3, /*gradient_scale=*/1);
    optimizer.zero_gradients();
  }
  model.eval();
  EXPECT_LT(loss_on(*data.validation, 0, held_out).item<double>(), 0.6 * before);
}

TEST(WordTransformer, KnowsTheWordsOfTheSentences) {
  EXPECT_EQ(WordTransformerConfig().vocabulary, sentence_vocabulary().size());
}

TEST(WordTransformer, RefusesWhatDoesNotFit) {
  WordTransformer model(kFewWords);
  EXPECT_TRUE(test::contains(test::error_of([&] {
                               model.forward(torch::zeros({1, 9}, torch::kLong));
                             }),
                             "word_transformer: 9 words are more than its context of 8"));
  EXPECT_TRUE(
      test::contains(test::error_of([&] { model.forward(torch::zeros({4}, torch::kLong)); }),
                     "word_transformer: input 4 is not (B, T) words"));
  EXPECT_TRUE(test::contains(test::error_of([] { WordTransformer({.dim = 30, .heads = 4}); }),
                             "dim 30 is not a multiple of heads 4"));
}

}  // namespace vitrine
