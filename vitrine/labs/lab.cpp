#include "vitrine/labs/lab.h"

#include <algorithm>
#include <iterator>

#include "vitrine/core/image_files.h"
#include "vitrine/data/resize.h"
#include "vitrine/plot/page.h"

namespace vitrine::labs {
namespace {

/// What stands in a page until the one it links to is there.
std::string place_on_index(const std::string& topic) { return "index.html#" + topic; }

std::string page_name(const std::string& topic) { return topic + ".html"; }

/// Labs and exercises in the order of learning.
std::vector<Lab> all_labs() {
  std::vector<Lab> all;
  for (const auto* registry : {&labs(), &lab_exercises()})
    for (const auto& [name, lab] : *registry) all.push_back(lab);
  return all;
}

/// A figure in the size of the index; "" if it has not been drawn.
std::string thumbnail(const fs::path& png) {
  constexpr int64_t kWidth = 288;  // twice that of the page: sharp on any screen
  if (!fs::exists(png)) return "";
  const auto image = read_image(png);
  return encode_png(resize(image, kWidth, std::max<int64_t>(1, image.height * kWidth / image.width),
                           Interpolation::Bicubic));
}

/// Links to the pages in `folder`; where one is missing, the command that makes it.
std::vector<plot::PageEntry> lesson_entries(const Translations& texts, const Registry<Lab>& lessons,
                                            const fs::path& folder, const std::string& command,
                                            const std::string& arguments) {
  std::vector<plot::PageEntry> entries;
  for (const auto& [name, lab] : lessons) {
    const auto page = page_name(lab.topic);
    const bool there = fs::exists(folder / page);
    entries.push_back({.id = lab.topic,
                       .title = texts.fill(lab.topic + ".title"),
                       .text = texts.fill("frame.summary." + lab.topic),
                       .link = there ? page : "",
                       .note = texts.fill("frame.index.missing"),
                       .command = fmt::format("{} {} {}", command, name, arguments),
                       .png = there ? thumbnail(folder / (lab.figure + ".png")) : ""});
  }
  return entries;
}

/// To the page before, the index and the page behind.
std::vector<plot::PageLink> page_links(const Translations& texts, const std::string& topic) {
  const auto all = all_labs();
  const auto here =
      std::find_if(all.begin(), all.end(), [&](const Lab& lab) { return lab.topic == topic; });
  const auto link = [&](const char* key, const Lab& other) {
    return plot::PageLink{texts.fill(fmt::format("frame.links.{}", key),
                                     fmt::arg("title", texts.at(other.topic + ".title"))),
                          place_on_index(other.topic)};
  };
  std::vector<plot::PageLink> links;
  if (here != all.begin()) links.push_back(link("back", *std::prev(here)));
  links.push_back({texts.at("frame.links.index"), "index.html"});
  if (std::next(here) != all.end()) links.push_back(link("next", *std::next(here)));
  return links;
}

/// Lets the pages of a folder link to those of their neighbours that are there.
void link_pages(const fs::path& folder) {
  for (const auto& lab : all_labs()) {
    const auto path = folder / page_name(lab.topic);
    if (!fs::exists(path)) continue;
    auto html = read_file(path);
    bool changed = false;
    for (const auto& other : all_labs()) {
      if (!fs::exists(folder / page_name(other.topic))) continue;
      const auto before = fmt::format("href=\"{}\"", place_on_index(other.topic));
      const auto after = fmt::format("href=\"{}\"", page_name(other.topic));
      for (size_t at; (at = html.find(before)) != std::string::npos; changed = true)
        html.replace(at, before.size(), after);
    }
    if (changed) write_file_atomically(path, html);
  }
}

}  // namespace

const Registry<Lab>& labs() {
  static const auto registry = [] {
    Registry<Lab> r("lab");
    r.add("1", {"lab1", "01_scaling_effect", basics::teach});
    r.add("2", {"lab2", "02_multi_head_attention", self_attention::teach});
    r.add("3", {"lab3", "03_positional_encoding_sinusoidal", positions::teach});
    r.add("4", {"lab4", "04_attention_patterns", block::teach});
    r.add("5", {"lab5", "05_sample_sequences", sequences::teach});
    return r;
  }();
  return registry;
}

const Registry<Lab>& lab_exercises() {
  static const auto registry = [] {
    Registry<Lab> r("exercise");
    r.add("positions", {"positions", "exercise_positions", exercises::teach_positions_exercise});
    r.add("heads", {"heads", "exercise_heads", exercises::teach_heads_exercise});
    r.add("rnn", {"rnn", "exercise_rnn", exercises::teach_rnn_exercise});
    r.add("sentence", {"sentence", "exercise_sentence", exercises::teach_sentence_exercise});
    return r;
  }();
  return registry;
}

fs::path write_index(const Translations& texts, const fs::path& folder,
                     const std::string& arguments) {
  plot::Page page(texts.fill("frame.title"), texts.language());
  page.paragraph(texts.fill("frame.index.intro"));
  page.section(texts.fill("frame.index.path"));
  page.numbered(texts.list("frame.index.steps"));
  page.section(texts.fill("frame.index.labs"));
  page.entries(lesson_entries(texts, labs(), folder, "vitrine lab", arguments));
  page.section(texts.fill("frame.index.exercises"));
  page.entries(lesson_entries(texts, lab_exercises(), folder, "vitrine lab exercise", arguments));
  const auto path = folder / "index.html";
  page.save(path);
  link_pages(folder);
  return path;
}

std::pair<fs::path, fs::path> run_lab(const Lab& lab, const Translations& texts,
                                      const LabOptions& options, std::ostream& terminal,
                                      const std::string& arguments) {
  Lesson lesson(texts, lab.topic, options.folder, terminal);
  const auto links = page_links(texts, lab.topic);
  lesson.links(links);
  lab.teach(lesson, options);
  lesson.links(links);
  const auto page = lesson.save();
  return {page, write_index(texts, options.folder, arguments)};
}

}  // namespace vitrine::labs
