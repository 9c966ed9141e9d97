#include "vitrine/labs/self_attention/sentence_model.h"

#include <torch/torch.h>

#include "vitrine/core/error.h"
#include "vitrine/data/batch.h"
#include "vitrine/data/examples.h"
#include "vitrine/data/image_batches.h"
#include "vitrine/data/sentences.h"
#include "vitrine/labs/training.h"
#include "vitrine/models/word_transformer.h"
#include "vitrine/nn/attention_capture.h"
#include "vitrine/nn/parameter_count.h"
#include "vitrine/nn/plain_values.h"
#include "vitrine/train/config.h"
#include "vitrine/train/evaluate.h"
#include "vitrine/train/objective.h"

namespace vitrine::labs::self_attention {
namespace {

constexpr auto kPerplexity = "perplexity";

Recipe sentence_recipe(const LabOptions& options) {
  Recipe recipe;
  recipe.name = "sentences";
  recipe.seed = static_cast<int64_t>(options.seed);
  recipe.model = ModelChoice("word_transformer");
  recipe.data.dataset =
      read_dataset(fmt::format("{{name: sentences, length: {}}}", kMaxWords + 1));  // and the start
  recipe.data.batch = 32;
  recipe.train.epochs = options.smoke ? 1 : 15;
  recipe.train.optimizer.lr = 3e-3;
  recipe.train.schedule.warmup_epochs = options.smoke ? 0 : 1;
  recipe.train.clip = 1;
  recipe.validate();
  return recipe;
}

/// The recipe's model with its initial weights.
std::shared_ptr<WordTransformer> build_sentence_model(const Recipe& recipe) {
  torch::manual_seed(static_cast<uint64_t>(recipe.seed));
  auto model = std::make_shared<WordTransformer>(WordTransformerConfig());
  model->eval();
  return model;
}

/// The sentences of a part as texts, word by word.
std::vector<std::string> part_sentences(const BatchSource& part) {
  const auto batch = all_examples(part);
  const auto inputs = batch.inputs.accessor<int64_t, 2>();
  const auto targets = batch.targets.accessor<int64_t, 2>();
  std::vector<std::string> sentences;
  for (int64_t i = 0; i < inputs.size(0); ++i) {
    std::string sentence;
    for (int64_t t = 1; t < inputs.size(1) && targets[i][t] != kIgnoreIndex; ++t)
      sentence += (t > 1 ? " " : "") + sentence_vocabulary().word(inputs[i][t]);
    sentences.push_back(std::move(sentence));
  }
  return sentences;
}

SentenceAttention read_with(WordTransformer& model, const std::string& sentence) {
  check_sentence(sentence);
  const auto& vocabulary = sentence_vocabulary();
  SentenceAttention result{.tokens = {vocabulary.word(Vocabulary::kStart)}};
  for (const auto& word : Vocabulary::split(sentence)) {
    result.tokens.push_back(word);
    if (vocabulary.id(word) == Vocabulary::kUnknown) result.unknown.push_back(word);
  }
  const torch::NoGradGuard no_grad;
  AttentionCapture capture;
  model.forward(torch::tensor(vocabulary.ids(sentence)).unsqueeze(0));
  for (const auto& layer : capture.layers) {
    auto& heads = result.layers.emplace_back();
    for (const auto& weights : layer.weights[0].unbind()) heads.push_back(plain_matrix(weights));
  }
  return result;
}

}  // namespace

void check_sentence(const std::string& sentence) {
  const auto words = static_cast<int64_t>(Vocabulary::split(sentence).size());
  check(words > 0, "sentence: '{}' has no words; give a text in quotation marks", sentence);
  check(words <= kMaxWords,
        "sentence: '{}' has {} words and signs of punctuation, but the model reads at most {}; "
        "shorten it",
        sentence, words, kMaxWords);
}

SentenceModel::SentenceModel(const LabOptions& options) {
  const auto recipe = sentence_recipe(options);
  const auto data = open_data(recipe.data, options.seed);
  untrained_ = build_sentence_model(recipe);
  trained_ = build_sentence_model(recipe);  // the same weights, by the recipe's seed
  held_out_ = part_sentences(*data.test);
  const auto objective = make_objective(data, ObjectiveSettings(/*smoothing=*/0));
  const auto before = evaluate(*untrained_, *data.test, *objective, {.label = "test"});
  const auto run = train_in_lab(recipe, trained_, data, options.folder / "runs" / "sentences");
  training_ = {.sentences = data.train->size(),
               .vocabulary = sentence_vocabulary().size(),
               .parameters = parameter_count(*trained_),
               .seconds = run.outcome.seconds,
               .untrained_perplexity = metric_value(before.metrics, kPerplexity),
               .perplexity = metric_value(run.outcome.test, kPerplexity)};
}

SentenceAttention SentenceModel::read(const std::string& sentence) const {
  return read_with(*trained_, sentence);
}

SentenceAttention SentenceModel::read_untrained(const std::string& sentence) const {
  return read_with(*untrained_, sentence);
}

}  // namespace vitrine::labs::self_attention
