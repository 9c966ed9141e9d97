#include "vitrine/labs/lab.h"

#include <memory>

#include "vitrine/cli/commands.h"
#include "vitrine/cli/options.h"
#include "vitrine/core/error.h"
#include "vitrine/core/interrupt.h"
#include "vitrine/labs/quiz.h"
#include "vitrine/ops/runtime.h"

namespace vitrine::cli {
namespace {

using labs::Lab;
using labs::Translations;

struct LabCommandOptions {
  std::string what;
  std::vector<std::string> rest;
  std::string language = lab_texts().default_language();
  std::string out;
  int64_t seed = 1;
  bool smoke = false;

  fs::path folder() const { return out.empty() ? fs::path("labs") / language : fs::path(out); }
};

/// What can follow `vitrine lab`.
std::vector<std::string> lab_words() {
  auto words = labs::labs().names();
  words.insert(words.end(), {"all", "exercise", "quiz"});
  return words;
}

const Lab& asked_exercise(const LabCommandOptions& o) {
  check_usage(!o.rest.empty(), "lab exercise: no exercise is named (known: {})",
              fmt::join(labs::lab_exercises().names(), ", "));
  const auto& exercise = labs::lab_exercises().get(o.rest.front());
  check_usage(o.rest.size() == 1 || o.rest.front() == "sentence",
              "lab exercise {}: takes no text, but '{}' was given; only sentence does",
              o.rest.front(), o.rest.back());
  return exercise;
}

/// The labs that the command line names; an unknown name throws and prints the known ones.
std::vector<Lab> asked_labs(const LabCommandOptions& o) {
  if (o.what == "exercise") return {asked_exercise(o)};
  std::vector<Lab> all;
  for (const auto& [name, lab] : labs::labs()) {
    if (o.what == name) return {lab};
    all.push_back(lab);
  }
  const auto known = lab_words();
  check_usage(o.what == "all", "lab '{}' is not known{} (known: {})", o.what,
              did_you_mean(o.what, known), fmt::join(known, ", "));
  return all;
}

/// What the commands on the index have behind the lab's name.
std::string index_arguments(const LabCommandOptions& o) {
  auto text = "--lang " + o.language;
  if (o.out.empty()) return text;
  std::string quoted;
  for (const char c : o.out) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  const bool plain = o.out.find_first_not_of(
                         "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                         "0123456789/._-") == std::string::npos;
  return text + " --out " + (plain ? o.out : "'" + quoted + "'");
}

/// Teaches one lab; its page and the index appear when it is through.
void teach_lab(const Lab& lab, const Translations& texts, const LabCommandOptions& o, Streams s) {
  labs::LabOptions options{
      .seed = static_cast<uint64_t>(o.seed), .smoke = o.smoke, .folder = o.folder()};
  if (o.rest.size() > 1) options.sentences.assign(o.rest.begin() + 1, o.rest.end());
  const auto [page, index] = labs::run_lab(lab, texts, options, s.out, index_arguments(o));
  s.out << texts.fill("frame.pages", fmt::arg("page", page.string()),
                      fmt::arg("index", index.string()))
        << "\n\n"
        << std::flush;
}

int run_labs(const LabCommandOptions& o, const Translations& texts, Streams s) {
  const auto chosen = asked_labs(o);
  set_up_runtime(/*threads=*/1);  // networks this small gain nothing from more
  if (chosen.size() > 1) catch_interrupts();
  for (size_t i = 0; i < chosen.size(); ++i) {
    if (i > 0 && interrupted()) {
      s.err << fmt::format("interrupted after {} of {} labs\n", i, chosen.size());
      return 1;
    }
    teach_lab(chosen[i], texts, o, s);
  }
  return 0;
}

int run_lab(const LabCommandOptions& o, Streams s) {
  check_usage(o.what == "exercise" || o.rest.empty(),
              "lab {}: takes no further argument, but '{}' was given; remove it", o.what,
              fmt::join(o.rest, " "));
  const Translations texts(lab_texts(), o.language);
  if (o.what != "quiz") return run_labs(o, texts, s);
  labs::run_quiz(texts, std::cin, s.out);
  return 0;
}

}  // namespace

Command lab_command() {
  return {
      "lab", "learn how attention works: five labs, exercises and a quiz", [](CLI::App& app) {
        const auto o = std::make_shared<LabCommandOptions>();
        app.add_option("what", o->what, "a lab, all of them, an exercise or the quiz")
            ->type_name(value_type(lab_words()))
            ->required();
        app.add_option("rest", o->rest, "which exercise; after sentence any text")
            ->type_name(value_type(labs::lab_exercises().names()) + "|TEXT");
        app.add_option("--lang", o->language, "language; default from the environment")
            ->type_name(value_type(lab_texts().languages()));
        app.add_option("--out", o->out, "output folder of pages and figures; default labs/LANGUAGE")
            ->type_name("FOLDER");
        app.add_option("--seed", o->seed, "random seed")->check(at_least(0))->capture_default_str();
        app.add_flag("--smoke", o->smoke, "tiny sizes, for a quick check");
        app.footer(
            "vitrine lab 1 --lang ko\nvitrine lab exercise sentence \"The cat sat on the mat\"\n"
            "vitrine lab quiz\n\nA lab explains itself on stdout as it runs and leaves its "
            "figures, "
            "a page of its own and index.html.");
        return [o](Streams s) { return run_lab(*o, s); };
      }};
}

}  // namespace vitrine::cli
