#include "vitrine/labs/index.h"

#include "vitrine/labs/lab.h"
#include "vitrine/plot/page.h"

namespace vitrine::labs {
namespace {

/// Links to the pages in `folder`; where one is missing, the command that makes it.
std::vector<plot::PageEntry> lesson_entries(const Translations& words, const Registry<Lab>& lessons,
                                            const fs::path& folder, const std::string& command) {
  std::vector<plot::PageEntry> entries;
  for (const auto& [name, lab] : lessons) {
    const auto page = lab.topic + ".html";
    entries.push_back({.title = words.fill(lab.topic + ".title"),
                       .text = words.fill("frame.summary." + lab.topic),
                       .link = fs::exists(folder / page) ? page : "",
                       .note = words.fill("frame.index.missing"),
                       .command = fmt::format("{} {} --lang {}", command, name, words.language())});
  }
  return entries;
}

std::vector<std::string> learning_path(const Translations& words) {
  std::vector<std::string> steps;
  for (size_t i = 0; words.has(fmt::format("frame.index.steps.{}", i)); ++i)
    steps.push_back(words.fill(fmt::format("frame.index.steps.{}", i)));
  return steps;
}

}  // namespace

fs::path write_index(const Translations& words, const fs::path& folder) {
  plot::Page page(words.fill("frame.title"), words.language());
  page.paragraph(words.fill("frame.index.intro"));
  page.section(words.fill("frame.index.path"));
  page.numbered(learning_path(words));
  page.section(words.fill("frame.index.labs"));
  page.entries(lesson_entries(words, labs(), folder, "vitrine lab"));
  page.section(words.fill("frame.index.exercises"));
  page.entries(lesson_entries(words, exercises(), folder, "vitrine lab exercise"));
  const auto path = folder / "index.html";
  page.save(path);
  return path;
}

}  // namespace vitrine::labs
