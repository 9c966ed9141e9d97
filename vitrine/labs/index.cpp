#include "vitrine/labs/index.h"

#include "vitrine/labs/lab.h"
#include "vitrine/plot/markup.h"

namespace vitrine::labs {
namespace {

using plot::escape_markup;

constexpr const char* kIndexStyle = R"(
:root { color-scheme: light dark; --ink: #1d232b; --quiet: #5b6672; --paper: #ffffff;
  --line: #dfe4ea; --link: #0b5cad; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e9ed; --quiet: #a3adb8; --paper: #15191e; --line: #333b45; --link: #7db7f0; }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); line-height: 1.6;
  font-family: system-ui, "Noto Sans", "Noto Sans KR", "Noto Sans CJK KR", sans-serif; }
main { max-width: 50rem; margin: 0 auto; padding: 2rem 1.25rem 4rem; }
h1 { font-size: 1.9rem; line-height: 1.25; margin: 0 0 1.5rem; }
h2 { font-size: 1.3rem; margin: 2.5rem 0 .75rem; padding-bottom: .3rem;
  border-bottom: 1px solid var(--line); }
h1, h2, p, li { overflow-wrap: anywhere; word-break: keep-all; }
a { color: var(--link); font-weight: 600; }
b { font-weight: 600; }
.lessons { list-style: none; padding: 0; }
.lessons li { border: 1px solid var(--line); border-radius: 8px; padding: .8rem 1rem;
  margin: .75rem 0; }
.lessons p { margin: .2rem 0 0; }
.missing { color: var(--quiet); }
)";

/// The title as a link to the page in `folder`, or with the command that makes the page.
std::string lesson_item(const Words& words, const Lab& lab, const fs::path& folder,
                        const std::string& command) {
  const auto title = escape_markup(words.fill(lab.topic + ".title"));
  const auto summary = escape_markup(words.fill("frame.summary." + lab.topic));
  const auto page = lab.topic + ".html";
  if (fs::exists(folder / page))
    return fmt::format("<li><a href=\"{}\">{}</a><p>{}</p></li>\n", page, title, summary);
  return fmt::format(
      "<li><b>{}</b><p>{}</p><p class=\"missing\">{} <code>{} --lang {}</code></p></li>\n", title,
      summary, escape_markup(words.fill("frame.index.missing")), command, words.language());
}

std::string lesson_list(const Words& words, const Registry<Lab>& lessons, const fs::path& folder,
                        const std::string& command) {
  std::string items;
  for (const auto& [name, lab] : lessons)
    items += lesson_item(words, lab, folder, command + " " + name);
  return fmt::format("<ul class=\"lessons\">\n{}</ul>\n", items);
}

std::string learning_path(const Words& words) {
  std::string steps;
  for (size_t i = 0; words.has(fmt::format("frame.index.steps.{}", i)); ++i)
    steps += fmt::format("<li>{}</li>\n",
                         escape_markup(words.fill(fmt::format("frame.index.steps.{}", i))));
  return fmt::format("<ol>\n{}</ol>\n", steps);
}

}  // namespace

fs::path write_index(const Words& words, const fs::path& folder) {
  const auto text = [&](const std::string& key) {
    return escape_markup(words.fill("frame.index." + key));
  };
  const auto title = escape_markup(words.fill("frame.title"));
  const auto html = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"{}\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>{}</title>\n<style>{}</style>\n</head>\n<body>\n<main>\n<h1>{}</h1>\n<p>{}</p>\n"
      "<h2>{}</h2>\n{}<h2>{}</h2>\n{}<h2>{}</h2>\n{}</main>\n</body>\n</html>\n",
      words.language(), title, kIndexStyle, title, text("intro"), text("path"),
      learning_path(words), text("labs"), lesson_list(words, labs(), folder, "vitrine lab"),
      text("exercises"), lesson_list(words, exercises(), folder, "vitrine lab exercise"));
  const auto path = folder / "index.html";
  write_file_atomically(path, html);
  return path;
}

}  // namespace vitrine::labs
