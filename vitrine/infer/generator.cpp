#include "vitrine/infer/generator.h"

#include <torch/torch.h>

#include <algorithm>
#include <limits>

#include "vitrine/core/error.h"
#include "vitrine/core/nearest.h"
#include "vitrine/core/progress.h"
#include "vitrine/core/task.h"
#include "vitrine/data/palette_batches.h"
#include "vitrine/models/decoder.h"
#include "vitrine/models/model.h"
#include "vitrine/weights/checkpoint.h"

namespace vitrine {
namespace {

/// Throws unless the first `kept` tokens of the data are the first that the model reads.
void check_reading_order(const torch::Tensor& order, int64_t kept) {
  check(!order.defined() || kept == 0 || order.narrow(0, 0, kept).equal(torch::arange(kept)),
        "sample: the model reads bytes in another order than that of the data (order: planar), so "
        "it cannot continue what is given");
}

}  // namespace

Generator::Generator(std::shared_ptr<Model> model, const std::string& name,
                     const std::vector<std::string>& words)
    : model_(std::move(model)), decoder_(model_->decoder()) {
  check(decoder_ != nullptr,
        "sample: {} does not predict the next token of a sequence, so it cannot generate; choose "
        "word_transformer or a model whose name begins with sparse_ or igpt_",
        name);
  const auto vocabulary = decoder_->vocabulary();
  if (decoder_->palette().defined()) {
    palette_ = palette_of(decoder_->palette());
  } else if (words.empty()) {
    check(vocabulary == kByteValues,
          "sample: {} knows {} tokens, and the checkpoint does not say what they are", name,
          vocabulary);
  } else {
    words_ = Vocabulary::from_words(words);
    check(words_->size() == vocabulary, "sample: {} knows {} tokens, but {} words are given", name,
          vocabulary, words_->size());
  }
  model_->eval();
}

Generator Generator::load(const fs::path& run_or_checkpoint) {
  const auto loaded = load_checkpoint(run_or_checkpoint);
  return {loaded.model,
          fmt::format("{} of '{}'", loaded.info.model.name(), run_or_checkpoint.string()),
          loaded.info.classes};
}

torch::Tensor Generator::first_tokens(int64_t count) const {
  if (decoder_->predicts_first()) return {};
  check(words_.has_value(), "sample: the data has no token with which a sequence starts");
  return torch::full({count}, Vocabulary::kStart, torch::kLong);
}

torch::Tensor Generator::sample(const SampleOptions& options) const {
  options.validate();
  const auto T = decoder_->context(), B = options.count;
  const auto kept = options.prefix.defined() ? options.prefix.size(1) : 0;
  check(kept <= T, "sample: {} {} are given, a sequence has at most {}", kept, unit(), T);
  const auto order = decoder_->reading_order();
  check_reading_order(order, kept);
  const auto state = decoder_->make_state(B);
  auto tokens = torch::empty({B, T}, torch::kLong);  // in the order in which the model reads
  auto ended = torch::zeros({B}, torch::kBool);
  Progress progress("sample", T, unit());
  auto last = first_tokens(B);
  int64_t t = 0;
  for (; t < T && !(words_ && ended.all().item<bool>()); ++t) {
    auto logits = decoder_->step(last, *state);
    if (words_)
      for (const auto special : {Vocabulary::kUnknown, Vocabulary::kStart})
        logits.select(1, special).fill_(-std::numeric_limits<double>::infinity());
    last = t < kept ? options.prefix.select(1, t) : sample_next_token(logits, options, t);
    if (words_) {
      last = last.masked_fill(ended, Vocabulary::kEnd);
      ended |= last == Vocabulary::kEnd;
    }
    tokens.select(1, t).copy_(last);
    progress.update(t + 1);
  }
  if (!order.defined()) return tokens.narrow(1, 0, t);
  return torch::empty_like(tokens).index_copy_(1, order, tokens);
}

int64_t Generator::count_tokens(const torch::Tensor& tokens) const {
  return words_ ? (tokens != Vocabulary::kEnd).sum().item<int64_t>() : tokens.numel();
}

std::vector<int64_t> Generator::tokens_of(const Image& image, int64_t rows) const {
  auto layout = decoder_->image_layout();
  check(layout.has_value(), "sample: the model has learned text, not images");
  if (palette_) layout->channels = 3;
  check(*layout == ImageLayout{image.height, image.width, image.channels},
        "sample: the image is {} x {} with {}, the model makes {} x {} with {}", image.width,
        image.height, counted(image.channels, "channel"), layout->columns, layout->rows,
        layout->channels);
  auto tokens = palette_ ? palette_->tokens(image)
                         : std::vector<int64_t>(image.pixels.begin(), image.pixels.end());
  tokens.resize(tokens.size() / static_cast<size_t>(layout->rows) * static_cast<size_t>(rows));
  return tokens;
}

std::vector<int64_t> Generator::tokens_of(const std::string& text) const {
  std::vector<int64_t> tokens;
  if (!words_) {
    for (const char c : text) tokens.push_back(static_cast<uint8_t>(c));
    return tokens;
  }
  for (const auto& word : Vocabulary::split(text)) {
    tokens.push_back(words_->id(word));
    check(tokens.back() > Vocabulary::kEnd,
          "sample: the word '{}' is not in the model's vocabulary{}", word,
          did_you_mean(word, words_->words()));
  }
  return tokens;
}

std::vector<std::string> Generator::texts_of(const torch::Tensor& tokens) const {
  std::vector<std::string> texts;
  for (const auto& row : tokens.contiguous().unbind()) {
    const auto* first = row.data_ptr<int64_t>();
    const auto* last = first + row.numel();
    if (!words_) {
      texts.emplace_back(first, last);
      continue;
    }
    std::vector<std::string> words;
    std::transform(first, std::find(first, last, Vocabulary::kEnd), std::back_inserter(words),
                   [&](int64_t id) { return words_->word(id); });
    texts.push_back(Vocabulary::join(words));
  }
  return texts;
}

std::vector<Image> Generator::images_of(const torch::Tensor& tokens) const {
  const auto layout = decoder_->image_layout();
  check(layout.has_value(), "sample: the model has learned text, not images");
  std::vector<Image> images;
  for (const auto& row : tokens.contiguous().unbind()) {
    images.emplace_back(layout->columns, layout->rows, palette_ ? 3 : layout->channels);
    const auto* token = row.data_ptr<int64_t>();
    auto out = images.back().pixels.begin();
    if (!palette_) std::copy_n(token, layout->length(), out);
    for (int64_t i = 0; palette_ && i < layout->length(); ++i)
      out = std::ranges::copy(palette_->pixel(token[i]), out).out;
  }
  return images;
}

}  // namespace vitrine
