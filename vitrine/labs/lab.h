#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "vitrine/core/files.h"
#include "vitrine/core/registry.h"
#include "vitrine/labs/lesson.h"

namespace vitrine::labs {

struct LabOptions {
  uint64_t seed = 1;
  bool smoke = false;                    // sizes that only show whether all works
  fs::path folder{};                     // for files beside the figures, such as training runs
  std::vector<std::string> sentences{};  // of the exercise "sentence"
};

/// A lab or an exercise.
struct Lab {
  std::string topic;   // the first part of its texts' keys, and its page's name: "lab1", "heads"
  std::string figure;  // of its figures the one that the index shows
  std::function<void(Lesson&, const LabOptions&)> teach;
};

/// The five labs, "1" .. "5".
const Registry<Lab>& labs();
/// "positions", "heads", "rnn", "sentence".
const Registry<Lab>& lab_exercises();

// What the labs teach, each in the namespace of its folder.
namespace basics {  // lab 1
void teach(Lesson& lesson, const LabOptions& options);
}
namespace self_attention {  // lab 2
void teach(Lesson& lesson, const LabOptions& options);
}
namespace positions {  // lab 3
void teach(Lesson& lesson, const LabOptions& options);
}
namespace block {  // lab 4
void teach(Lesson& lesson, const LabOptions& options);
}
namespace sequences {  // lab 5
void teach(Lesson& lesson, const LabOptions& options);
}
namespace exercises {
void teach_positions_exercise(Lesson& lesson, const LabOptions& options);
void teach_heads_exercise(Lesson& lesson, const LabOptions& options);
void teach_rnn_exercise(Lesson& lesson, const LabOptions& options);
void teach_sentence_exercise(Lesson& lesson, const LabOptions& options);
}  // namespace exercises

/// Writes <folder>/index.html and returns its path: the labs and exercises in the order of
/// learning, each with a link to its page or, where that is not in the folder, with the command
/// that makes it, which ends with `arguments`. The pages in the folder then link to one another.
fs::path write_index(const Translations& texts, const fs::path& folder,
                     const std::string& arguments);

/// Runs the lab on the terminal and in `options.folder`, writes its page with links to those before
/// and behind it, and the index; returns the paths of both.
std::pair<fs::path, fs::path> run_lab(const Lab& lab, const Translations& texts,
                                      const LabOptions& options, std::ostream& terminal,
                                      const std::string& arguments);

}  // namespace vitrine::labs
