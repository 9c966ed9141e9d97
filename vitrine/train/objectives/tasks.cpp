#include <vector>

#include "vitrine/core/error.h"
#include "vitrine/train/objective.h"

namespace vitrine {

// Each is defined in a file of its own beside this one.
TaskEntry classification_task();
TaskEntry digit_sum_task();
TaskEntry next_value_task();
TaskEntry next_token_task();

const TaskEntry& task_entry(Task task) {
  static const std::vector<TaskEntry> entries = {classification_task(), digit_sum_task(),
                                                 next_value_task(), next_token_task()};
  for (const auto& entry : entries)
    if (entry.task == task) return entry;
  fail("objective: task {} is not known", static_cast<int>(task));
}

}  // namespace vitrine
