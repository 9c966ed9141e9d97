#pragma once

#include <memory>
#include <mutex>

#include "vitrine/data/dataset.h"
#include "vitrine/train/run_folder.h"

namespace vitrine::serve {

/// The images that runs were tested with, out of the data sets that their recipes name. The data
/// set of one run is held in memory: of the run that was asked for last.
class TestImages {
 public:
  /// The test split of the run, in the order of its predictions.json. Throws an `Error` if the data
  /// set cannot be opened, or if its labels are not those that the predictions tell.
  std::shared_ptr<const Dataset> of(const RunFolder& run);

 private:
  /// What must not have changed for the images to be those of a run.
  struct Key {
    fs::path run{};
    fs::file_time_type recipe{}, predictions{};
    bool operator==(const Key&) const = default;
  };

  std::mutex mutex_;
  Key key_;
  std::shared_ptr<const Dataset> images_;
};

}  // namespace vitrine::serve
