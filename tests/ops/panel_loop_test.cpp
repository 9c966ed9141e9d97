#include "vitrine/ops/panel_loop.h"

#include <gtest/gtest.h>

#include <set>
#include <utility>

namespace vitrine {

TEST(PanelOrder, MeetsEveryBlockWithEveryPanelOnce) {
  for (const int64_t rows : {1, 48, 49, 197, 384, 385, 1576})
    for (const int64_t panels : {1, 3, 12, 48}) {
      SCOPED_TRACE(fmt::format("{} rows, {} panels", rows, panels));
      const PanelOrder order(rows, panels);
      std::set<std::pair<int64_t, int64_t>> met;
      for (int64_t task = 0; task < order.tasks(); ++task) {
        const auto [panel, block] = order[task];
        EXPECT_TRUE(panel >= 0 && panel < panels && block >= 0 && block * kRowsPerTask < rows);
        met.insert({panel, block});
      }
      EXPECT_EQ(std::ssize(met), panels * ((rows + kRowsPerTask - 1) / kRowsPerTask));
    }
}

TEST(TaskQueue, GivesEveryTaskToOneThread) {
  for (const int64_t count : {0, 1, 7, 100})
    for (const int64_t at_once : {1, 3}) {
      std::vector<std::atomic<int>> done(count);
      TaskQueue(count, at_once).run([&](const auto& for_tasks) {
        for_tasks([&](int64_t task) { ++done[task]; });
      });
      for (const auto& times : done) EXPECT_EQ(times, 1);
    }
}

}  // namespace vitrine
