#include "vitrine/infer/generator.h"

#include <torch/torch.h>

#include <algorithm>
#include <limits>

#include "vitrine/core/error.h"
#include "vitrine/core/nearest.h"
#include "vitrine/core/progress.h"
#include "vitrine/core/task.h"
#include "vitrine/data/palette_batches.h"
#include "vitrine/infer/precision.h"
#include "vitrine/infer/sampling.h"
#include "vitrine/models/decoder.h"
#include "vitrine/models/model.h"
#include "vitrine/weights/checkpoint.h"

namespace vitrine {
namespace {

/// "the word 'catt' is" or "the words 'catt', 'dgo' are".
std::string named(const std::vector<std::string>& words) {
  const bool one = words.size() == 1;
  return fmt::format("the word{} '{}' {}", one ? "" : "s", fmt::join(words, "', '"),
                     one ? "is" : "are");
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
  const auto loaded = load_checkpoint(run_or_checkpoint, FileMemory::Borrow);
  prepare_for_inference(*loaded.model, Precision::Float32, loaded.info.model.name());
  return {loaded.model,
          fmt::format("{} of '{}'", loaded.info.model.name(), run_or_checkpoint.string()),
          loaded.info.classes};
}

std::optional<ImageLayout> Generator::image_layout() const {
  auto layout = decoder_->image_layout();
  if (layout && palette_) layout->channels = 3;
  return layout;
}

void Generator::forbid_special_tokens(torch::Tensor& logits) {
  for (const auto special : {Vocabulary::kUnknown, Vocabulary::kStart})
    logits.select(1, special).fill_(-std::numeric_limits<double>::infinity());
}

torch::Tensor Generator::sample(const SampleOptions& options) const {
  Sampling sampling(*this, options);
  Progress progress("sample", sampling.context(), unit());
  while (sampling.step()) progress.update(sampling.position());
  return sampling.sequences();
}

SampleOptions Generator::sample_options(const GenerateOptions& o) const {
  check(!o.image || o.text.empty(), "sample: --complete and --text exclude each other");
  check(o.text.empty() || !image_layout(),
        "sample: the model has learned images; give --complete an image");
  check(o.keep >= 0 && o.keep <= 1, "sample: --keep {} is not between 0 and 1", o.keep);
  SampleOptions options{
      .count = o.count, .temperature = o.temperature, .top_k = o.top_k, .seed = o.seed};
  options.validate();
  if (!o.image && o.text.empty()) return options;
  const auto tokens =
      o.image ? tokens_of(*o.image, o.kept_image_rows(o.image->height)) : tokens_of(o.text);
  options.prefix = torch::tensor(tokens, torch::kLong).repeat({o.count, 1});
  return options;
}

int64_t Generator::count_tokens(const torch::Tensor& tokens) const {
  return words_ ? (tokens != Vocabulary::kEnd).sum().item<int64_t>() : tokens.numel();
}

std::vector<int64_t> Generator::tokens_of(const Image& image, int64_t rows) const {
  const auto layout = image_layout();
  check(layout.has_value(), "sample: the model has learned text, not images");
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
  std::vector<std::string> unknown;
  for (const auto& word : Vocabulary::split(text)) {
    tokens.push_back(words_->id(word));
    if (tokens.back() <= Vocabulary::kEnd) unknown.push_back(word);
  }
  if (unknown.empty()) return tokens;
  constexpr int64_t kShown = 12;
  const auto first = words_->words().begin() + Vocabulary::kEnd + 1;
  const std::vector<std::string> known(first, words_->words().end());
  fail("sample: {} not in the model's vocabulary of {}, such as {}{}", named(unknown),
       counted(std::ssize(known), "word"),
       fmt::join(known.begin(), known.begin() + std::min(kShown, std::ssize(known)), ", "),
       unknown.size() == 1 ? did_you_mean(unknown[0], known) : "");
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
  const auto layout = image_layout();
  check(layout.has_value(), "sample: the model has learned text, not images");
  const auto pixels = layout->rows * layout->columns;
  std::vector<Image> images;
  for (const auto& row : tokens.contiguous().unbind()) {
    images.emplace_back(layout->columns, layout->rows, layout->channels);
    const auto* token = row.data_ptr<int64_t>();
    auto out = images.back().pixels.begin();
    if (!palette_) std::copy_n(token, layout->length(), out);
    for (int64_t i = 0; palette_ && i < pixels; ++i)
      out = std::ranges::copy(palette_->pixel(token[i]), out).out;
  }
  return images;
}

}  // namespace vitrine
