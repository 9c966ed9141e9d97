#include "vitrine/serve/engine/served_generator.h"

#include <torch/torch.h>

#include <algorithm>

#include "vitrine/core/error.h"
#include "vitrine/infer/generator.h"
#include "vitrine/infer/sampling.h"
#include "vitrine/infer/top_predictions.h"
#include "vitrine/models/decoder.h"
#include "vitrine/models/model.h"
#include "vitrine/weights/checkpoint.h"

namespace vitrine::serve {

size_t whole_characters(std::string_view text) {
  constexpr size_t kLongest = 4;
  for (size_t back = 1; back <= std::min(kLongest, text.size()); ++back) {
    const auto byte = static_cast<uint8_t>(text[text.size() - back]);
    if (byte >> 6 == 0b10) continue;  // continues a character
    const size_t length = byte >> 5 == 0b110     ? 2
                          : byte >> 4 == 0b1110  ? 3
                          : byte >> 3 == 0b11110 ? 4
                                                 : 1;
    return length > back ? text.size() - back : text.size();
  }
  return text.size();
}

bool SampledTokens::empty() const {
  return at.empty() &&
         std::all_of(texts.begin(), texts.end(), [](const auto& t) { return t.empty(); });
}

struct SampledSequences::State {
  State(const Generator& g, const SampleOptions& o)
      : generator(g), prefix(o.prefix), sampling(g, o), texts(o.count), sent(o.count) {}

  /// Takes over the tokens of one step, (B) int64, which stand at `place` of the data's sequences.
  void add(const torch::Tensor& tokens, int64_t place) {
    const auto contiguous = tokens.contiguous();
    const auto* token = contiguous.data_ptr<int64_t>();
    if (!generator.image_layout()) return add_texts(token);
    const int64_t bytes = generator.palette() ? 3 : 1;
    for (int64_t i = 0; i < bytes; ++i) next.at.push_back(bytes * place + i);
    next.values.resize(texts.size());
    for (size_t b = 0; b < texts.size(); ++b) {
      auto& values = next.values[b];
      if (generator.palette())
        std::ranges::copy(generator.palette()->pixel(token[b]), std::back_inserter(values));
      else
        values.push_back(static_cast<uint8_t>(token[b]));
    }
  }
  void add_texts(const int64_t* token) {
    words.resize(texts.size());
    for (size_t b = 0; b < texts.size(); ++b) {
      if (!generator.words()) {
        texts[b] += static_cast<char>(token[b]);
      } else if (token[b] != Vocabulary::kEnd) {
        words[b].push_back(generator.words()->word(token[b]));
        texts[b] = Vocabulary::join(words[b]);
      }
    }
  }
  /// What of the texts has not been taken.
  void take_texts() {
    if (generator.image_layout()) return;
    for (size_t b = 0; b < texts.size(); ++b) {
      const auto whole = ended ? texts[b].size() : std::max(sent[b], whole_characters(texts[b]));
      next.texts.push_back(texts[b].substr(sent[b], whole - sent[b]));
      sent[b] = whole;
    }
  }

  const Generator& generator;
  const torch::Tensor prefix;  // (B, kept) or undefined
  Sampling sampling;
  SampledTokens next{};
  std::vector<std::string> texts;                 // so far
  std::vector<std::vector<std::string>> words{};  // so far, of a model of words
  std::vector<size_t> sent;                       // how much of each text was taken
  bool ended = false;
};

SampledSequences::SampledSequences(std::unique_ptr<State> state) : state_(std::move(state)) {
  for (int64_t t = 0; t < kept(); ++t)
    state_->add(state_->prefix.select(1, t), state_->sampling.place_of(t));
}

SampledSequences::~SampledSequences() = default;

bool SampledSequences::step() {
  auto& s = *state_;
  const auto t = s.sampling.position();
  s.ended = !s.sampling.step();
  if (!s.ended && t >= kept()) s.add(s.sampling.tokens_at(t), s.sampling.place_of(t));
  return !s.ended;
}

SampledTokens SampledSequences::take() {
  state_->take_texts();
  return std::exchange(state_->next, {});
}

int64_t SampledSequences::kept() const { return state_->sampling.kept(); }
int64_t SampledSequences::sampled() const { return state_->sampling.sampled(); }

struct ServedGenerator::Loaded {
  std::shared_ptr<Model> model;
  Generator generator;
  bool holds_weights = false;  // of its attention
};

ServedGenerator::ServedGenerator(ModelCard card, const LoadedCheckpoint& loaded)
    : card_{std::move(card)},
      loaded_(std::make_unique<Loaded>(
          Loaded{loaded.model, Generator(loaded.model, card_.model, loaded.info.classes)})) {
  const auto& generator = loaded_->generator;
  card_.unit = generator.unit();
  card_.image = generator.image_layout();
  card_.context = generator.decoder().context();
  if (!generator.words()) return;
  card_.vocabulary = generator.words()->words();
  try {
    loaded_->holds_weights = true;
    read("");
  } catch (const Error&) {  // its attention never holds the weights of all pairs
    loaded_->holds_weights = false;
  }
}

ServedGenerator::~ServedGenerator() = default;

std::string ServedGenerator::purpose() const {
  return makes_images() ? "generates images" : "generates text";
}

void ServedGenerator::check_length(const std::string& text) const {
  constexpr int64_t kLongestWord = 64;
  check(std::ssize(text) <= kLongestWord * card_.context,
        "text: {} bytes are given, a sequence has at most {} {}", text.size(), card_.context,
        card_.unit);
}

std::unique_ptr<SampledSequences> ServedGenerator::sample(const GenerateOptions& options) const {
  check_length(options.text);
  const auto& generator = loaded_->generator;
  return std::make_unique<SampledSequences>(
      std::make_unique<SampledSequences::State>(generator, generator.sample_options(options)));
}

ReadSentence ServedGenerator::read(const std::string& text) const {
  constexpr int64_t kNext = 10;
  check_length(text);
  const torch::InferenceMode no_gradients;
  const auto& loaded = *loaded_;
  auto ids = loaded.generator.tokens_of(text);
  ids.insert(ids.begin(), Vocabulary::kStart);
  const auto T = std::ssize(ids);
  check(T <= card_.context,
        "text: {} words and the start are more than the {} tokens of a sequence", T - 1,
        card_.context);
  ReadSentence answer;
  for (const auto id : ids) answer.tokens.push_back(card_.vocabulary[id]);
  torch::Tensor logits;
  const auto forward = [&] { logits = loaded.model->forward(torch::tensor(ids).unsqueeze(0)); };
  if (loaded.holds_weights)
    answer.layers = captured_weights(forward);
  else
    forward();
  // As in sampling, neither the unknown word nor the start, which come first, can follow.
  static_assert(Vocabulary::kEnd == 2);
  const auto words = card_.vocabulary.begin() + Vocabulary::kEnd;
  answer.next = top_predictions(logits.select(1, T - 1).slice(1, Vocabulary::kEnd),
                                {words, card_.vocabulary.end()}, kNext)[0];
  return answer;
}

}  // namespace vitrine::serve
