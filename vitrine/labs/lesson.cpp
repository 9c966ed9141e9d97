#include "vitrine/labs/lesson.h"

namespace vitrine::labs {

Lesson::Lesson(const Translations& texts, std::string topic, fs::path folder,
               std::ostream& terminal)
    : texts_(texts),
      topic_(std::move(topic)),
      report_({.title = word("title"),
               .language = texts.language(),
               .folder = std::move(folder),
               .terminal = &terminal,
               .figure_note = texts.at("frame.figure")}) {}

}  // namespace vitrine::labs
