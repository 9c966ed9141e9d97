#pragma once

#include <string>
#include <vector>

#include "vitrine/labs/lesson.h"
#include "vitrine/plot/page.h"

namespace vitrine::labs {

/// A row of a table, or any list of texts.
using Cells = std::vector<std::string>;

/// The list of texts under a key.
inline Cells word_list(const Lesson& lesson, const std::string& key, size_t count) {
  Cells words;
  for (size_t i = 0; i < count; ++i) words.push_back(lesson.word(fmt::format("{}.{}", key, i)));
  return words;
}

/// A table with at least one row, whose texts are `key`.title and the list `key`.header.
template <typename... Args>
plot::Table worded_table(const Lesson& lesson, const std::string& key, std::vector<Cells> rows,
                         const Args&... title_args) {
  const auto columns = rows.front().size();
  return {lesson.word(key + ".title", title_args...), word_list(lesson, key + ".header", columns),
          std::move(rows)};
}

}  // namespace vitrine::labs
