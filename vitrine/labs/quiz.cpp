#include "vitrine/labs/quiz.h"

#include <charconv>
#include <optional>

#include "vitrine/core/error.h"
#include "vitrine/labs/lab.h"
#include "vitrine/report/terminal.h"

namespace vitrine::labs {
namespace {

using report::underlined, report::wrapped;

/// The number that a line holds, with or without spaces around it.
std::optional<int64_t> number_in(const std::string& line) {
  const auto first = line.find_first_not_of(" \t\r");
  if (first == std::string::npos) return {};
  const auto* end = line.data() + line.find_last_not_of(" \t\r") + 1;
  int64_t number = 0;
  const auto parsed = std::from_chars(line.data() + first, end, number);
  return parsed.ec == std::errc() && parsed.ptr == end ? std::optional(number) : std::nullopt;
}

Question read_question(const Translations& texts, const std::string& key) {
  Question q{.question = texts.at(key + ".question"),
             .choices = texts.list(key + ".choices"),
             .answer = number_in(texts.at(key + ".answer")).value_or(0),
             .hint = texts.at(key + ".hint"),
             .explanation = texts.at(key + ".explanation"),
             .lab = texts.at(key + ".lab")};
  check(q.answer >= 1 && q.answer <= std::ssize(q.choices),
        "labs: {}.answer '{}' is none of the {} choices (1 is the first)", key,
        texts.at(key + ".answer"), q.choices.size());
  return q;
}

/// One learner at one terminal.
class Quiz {
 public:
  Quiz(const Translations& texts, std::istream& in, std::ostream& out)
      : texts_(texts), questions_(quiz_questions(texts)), in_(in), out_(out) {}

  QuizScore run() {
    out_ << underlined(talk("title"), '=') << '\n'
         << wrapped(talk("start", fmt::arg("total", questions_.size()))) << '\n';
    for (size_t i = 0; i < questions_.size(); ++i)
      if (!pose(i)) {
        out_ << "\n\n" << wrapped(talk("ended"));
        break;
      }
    say_score();
    return score_;
  }

 private:
  template <typename... Args>
  std::string talk(const std::string& key, const Args&... args) const {
    return texts_.fill("frame.quiz." + key, args...);
  }

  /// False if the input ended before the question was done.
  bool pose(size_t index) {
    const auto& q = questions_[index];
    out_ << underlined(
                talk("number", fmt::arg("number", index + 1), fmt::arg("total", questions_.size())),
                '-')
         << wrapped(q.question);
    for (size_t i = 0; i < q.choices.size(); ++i)
      out_ << wrapped(q.choices[i], fmt::format("  {}) ", i + 1));
    const auto first = ask(q);
    if (!first) return false;
    if (*first == q.answer) {
      ++score_.right;
      out_ << '\n' << wrapped(talk("right")) << wrapped(q.explanation) << '\n';
    } else if (!give_second_try(q)) {
      return false;
    }
    ++score_.answered;
    return true;
  }

  bool give_second_try(const Question& q) {
    out_ << '\n' << wrapped(talk("hint", fmt::arg("hint", q.hint)));
    const auto second = ask(q);
    if (!second) return false;
    const bool right = *second == q.answer;
    score_.with_hint += right;
    score_.again.insert(q.lab);
    const auto& choice = q.choices[static_cast<size_t>(q.answer - 1)];
    out_ << '\n'
         << wrapped(right ? talk("right")
                          : talk("wrong", fmt::arg("answer", q.answer), fmt::arg("choice", choice)))
         << wrapped(q.explanation) << wrapped(talk("shown", fmt::arg("lab", q.lab))) << '\n';
    return true;
  }

  /// The number of a choice; asks until it is one, gives none at the end of the input.
  std::optional<int64_t> ask(const Question& q) {
    const auto most = std::ssize(q.choices);
    out_ << talk("prompt", fmt::arg("most", most)) << ' ' << std::flush;
    for (std::string line; std::getline(in_, line);) {
      const auto number = number_in(line);
      if (number && *number >= 1 && *number <= most) return number;
      out_ << talk("invalid", fmt::arg("most", most)) << ' ' << std::flush;
    }
    return {};
  }

  void say_score() {
    out_ << '\n'
         << wrapped(talk(
                "score", fmt::arg("right", score_.right), fmt::arg("with_hint", score_.with_hint),
                fmt::arg("answered", score_.answered), fmt::arg("total", questions_.size())));
    if (score_.right == std::ssize(questions_)) out_ << wrapped(talk("all_right"));
    if (score_.again.empty()) return;
    out_ << wrapped(talk("again"));
    for (const auto& lab : score_.again)
      out_ << wrapped(texts_.fill(labs().get(lab).topic + ".title"),
                      fmt::format("  vitrine lab {}  ", lab));
  }

  const Translations& texts_;
  const std::vector<Question> questions_;
  std::istream& in_;
  std::ostream& out_;
  QuizScore score_;
};

}  // namespace

std::vector<Question> quiz_questions(const Translations& texts) {
  std::vector<Question> questions;
  for (size_t i = 0; texts.has(fmt::format("quiz.{}.question", i)); ++i)
    questions.push_back(read_question(texts, fmt::format("quiz.{}", i)));
  return questions;
}

QuizScore run_quiz(const Translations& texts, std::istream& in, std::ostream& out) {
  return Quiz(texts, in, out).run();
}

}  // namespace vitrine::labs
