#include "vitrine/labs/lab.h"

#include "vitrine/plot/page.h"

namespace vitrine::labs {
namespace {

/// Links to the pages in `folder`; where one is missing, the command that makes it.
std::vector<plot::PageEntry> lesson_entries(const Translations& texts, const Registry<Lab>& lessons,
                                            const fs::path& folder, const std::string& command) {
  std::vector<plot::PageEntry> entries;
  for (const auto& [name, lab] : lessons) {
    const auto page = lab.topic + ".html";
    entries.push_back({.title = texts.fill(lab.topic + ".title"),
                       .text = texts.fill("frame.summary." + lab.topic),
                       .link = fs::exists(folder / page) ? page : "",
                       .note = texts.fill("frame.index.missing"),
                       .command = fmt::format("{} {} --lang {}", command, name, texts.language())});
  }
  return entries;
}

}  // namespace

const Registry<Lab>& labs() {
  static const auto registry = [] {
    Registry<Lab> r("lab");
    r.add("1", {"lab1", teach_basics});
    r.add("2", {"lab2", teach_self_attention});
    r.add("3", {"lab3", teach_positions});
    r.add("4", {"lab4", teach_block});
    r.add("5", {"lab5", teach_sequences});
    return r;
  }();
  return registry;
}

const Registry<Lab>& exercises() {
  static const auto registry = [] {
    Registry<Lab> r("exercise");
    r.add("positions", {"positions", practise_positions});
    r.add("heads", {"heads", practise_heads});
    r.add("rnn", {"rnn", practise_rnn});
    r.add("sentence", {"sentence", practise_sentence});
    return r;
  }();
  return registry;
}

fs::path write_index(const Translations& texts, const fs::path& folder) {
  plot::Page page(texts.fill("frame.title"), texts.language());
  page.paragraph(texts.fill("frame.index.intro"));
  page.section(texts.fill("frame.index.path"));
  page.numbered(texts.list("frame.index.steps"));
  page.section(texts.fill("frame.index.labs"));
  page.entries(lesson_entries(texts, labs(), folder, "vitrine lab"));
  page.section(texts.fill("frame.index.exercises"));
  page.entries(lesson_entries(texts, exercises(), folder, "vitrine lab exercise"));
  const auto path = folder / "index.html";
  page.save(path);
  return path;
}

}  // namespace vitrine::labs
