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
const Registry<Lab>& exercises();

void teach_basics(Lesson& lesson, const LabOptions& options);          // lab 1
void teach_self_attention(Lesson& lesson, const LabOptions& options);  // lab 2
void teach_positions(Lesson& lesson, const LabOptions& options);       // lab 3
void teach_block(Lesson& lesson, const LabOptions& options);           // lab 4
void teach_sequences(Lesson& lesson, const LabOptions& options);       // lab 5

void practise_positions(Lesson& lesson, const LabOptions& options);
void practise_heads(Lesson& lesson, const LabOptions& options);
void practise_rnn(Lesson& lesson, const LabOptions& options);
void practise_sentence(Lesson& lesson, const LabOptions& options);

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
