#include <algorithm>

#include "vitrine/labs/lab.h"
#include "vitrine/labs/sentence_figure.h"
#include "vitrine/labs/sentence_model.h"

namespace vitrine::labs {
namespace {

/// The tokens; words that occur more than once with their places: "the#1", "the#5".
std::vector<std::string> told_apart(std::vector<std::string> labels) {
  const auto words = labels;
  for (size_t i = 0; i < words.size(); ++i)
    if (std::count(words.begin(), words.end(), words[i]) > 1) labels[i] += fmt::format("#{}", i);
  return labels;
}

/// "cat 0.53": where a token looks most.
std::string strongest_link(const plot::Matrix& head, int64_t token,
                           const std::vector<std::string>& labels) {
  const auto row = head.values.begin() + token * head.columns;
  const auto strongest = std::max_element(row, row + head.columns);
  return fmt::format("{} {:.2f}", labels[strongest - row], *strongest);
}

/// The strongest link of each word in each head of a layer.
plot::Table link_table(const Lesson& lesson, const SentenceAttention& sentence, size_t layer) {
  const auto labels = told_apart(token_labels(lesson, sentence));
  const auto& heads = sentence.layers[layer];
  plot::Table table{.title = lesson.word("links", fmt::arg("layer", layer + 1)),
                    .header = {lesson.word("word")},
                    .rows = {}};
  for (size_t head = 0; head < heads.size(); ++head)
    table.header.push_back(lesson.word("head", fmt::arg("head", head + 1)));
  for (size_t token = 1; token < labels.size(); ++token) {
    std::vector<std::string> row{labels[token]};
    for (const auto& head : heads)
      row.push_back(strongest_link(head, static_cast<int64_t>(token), labels));
    table.rows.push_back(std::move(row));
  }
  return table;
}

void show_sentence(Lesson& lesson, const SentenceModel& model, const std::string& text,
                   const std::string& figure_name) {
  const auto sentence = model.read(text);
  lesson.say("sentence", fmt::arg("sentence", text), fmt::arg("words", sentence.tokens.size() - 1));
  if (!sentence.unknown.empty())
    lesson.say("unknown", fmt::arg("words", fmt::format("{}", fmt::join(sentence.unknown, ", "))));
  for (size_t layer = 0; layer < sentence.layers.size(); ++layer)
    lesson.table(link_table(lesson, sentence, layer));
  const auto title = lesson.word("figure", fmt::arg("sentence", text),
                                 fmt::arg("sentences", model.training().sentences),
                                 fmt::arg("perplexity", model.training().perplexity));
  lesson.figure(figure_name, head_figure(lesson, sentence, title), lesson.word("caption"));
}

}  // namespace

void practise_sentence(Lesson& lesson, const LabOptions& options) {
  auto sentences = options.sentences;
  if (sentences.empty()) sentences.emplace_back(kCatSentence);
  for (const auto& sentence : sentences) check_sentence(sentence);

  lesson.say("intro");
  const SentenceModel model(options);
  const auto& training = model.training();
  lesson.say("model", fmt::arg("sentences", training.sentences),
             fmt::arg("vocabulary", training.vocabulary), fmt::arg("seconds", training.seconds),
             fmt::arg("before", training.untrained_perplexity),
             fmt::arg("after", training.perplexity));
  for (size_t i = 0; i < sentences.size(); ++i)
    show_sentence(
        lesson, model, sentences[i],
        sentences.size() == 1 ? "exercise_sentence" : fmt::format("exercise_sentence_{}", i + 1));
  lesson.say("try");
}

}  // namespace vitrine::labs
