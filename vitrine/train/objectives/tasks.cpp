#include <vector>

#include "vitrine/core/error.h"
#include "vitrine/train/objective.h"

namespace vitrine {

#define TASK(name) TaskEntry name##_task();
#include "vitrine/train/objectives/tasks.def"
#undef TASK

const TaskEntry& task_entry(Task task) {
  static const std::vector<TaskEntry> entries = {
#define TASK(name) name##_task(),
#include "vitrine/train/objectives/tasks.def"
#undef TASK
  };
  for (const auto& entry : entries)
    if (entry.task == task) return entry;
  fail("objective: task {} is not known", static_cast<int>(task));
}

}  // namespace vitrine
