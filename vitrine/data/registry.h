#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "vitrine/core/choice.h"
#include "vitrine/core/registry.h"
#include "vitrine/data/dataset.h"

namespace vitrine {

struct DataConfig;
struct Splits;

/// What is known of a data set's images before its files are read.
struct ImageTraits {
  int64_t side = 0;  // 0 = they differ
  int64_t channels = 3;
  std::vector<double> mean, std;  // per channel, of values from 0 to 1
};

/// A data set's own settings with their type hidden, and how it is opened. `DataConfig` holds what
/// all data sets share: where they are stored, how they are split.
class DatasetBlueprint {
 public:
  static constexpr const char *kKey = "data.dataset", *kList = "vitrine data list";
  /// A copy of what the registry has under `name`.
  static std::unique_ptr<DatasetBlueprint> make(const std::string& name);

  virtual ~DatasetBlueprint() = default;
  virtual void visit(Fields& f) = 0;
  virtual void validate() const = 0;
  virtual std::unique_ptr<DatasetBlueprint> clone() const = 0;

  /// Nothing for data sets that do not consist of images.
  virtual std::optional<ImageTraits> images() const { return std::nullopt; }
  /// The split, or nothing if the data set does not come with it. Missing and damaged files
  /// throw and say what to fetch; so do data sets that do not consist of images.
  virtual std::unique_ptr<Dataset> open(const DataConfig& config, Split split) const;
  /// Whether a split that is cut out of the training images takes the same fraction of every class.
  virtual bool stratified() const { return true; }
  /// The three splits as batches; those of images unless a data set says otherwise.
  virtual Splits splits(const DataConfig& config, uint64_t seed) const;
  /// Brings the files to the data root, from `source` (a path) or, if that is empty, from the
  /// network. Returns what was done, in a sentence.
  virtual std::string fetch(const DataConfig& config, const std::string& source) const;
  /// How many of the user's files are left out, by kind (".gif"); hidden ones do not count.
  virtual std::map<std::string, int64_t> skipped_files() const { return {}; }
};

/// Of a data set without settings.
struct NoSettings {
  void visit(Fields&) {}
  void validate() const {}
};

/// What every blueprint does in the same way; `Own` are the settings of data set `Self`.
template <typename Self, typename Own = NoSettings>
class DatasetOf : public DatasetBlueprint {
 public:
  void visit(Fields& f) override { settings.visit(f); }
  void validate() const override { settings.validate(); }
  std::unique_ptr<DatasetBlueprint> clone() const override {
    return std::make_unique<Self>(static_cast<const Self&>(*this));
  }

 protected:
  Own settings{};
};

/// The `data.dataset` part of a recipe: a name and the settings of that data set.
using DatasetChoice = Choice<DatasetBlueprint>;

/// A data set that recipes and commands can name.
struct DatasetEntry {
  std::string summary;
  std::shared_ptr<const DatasetBlueprint> blueprint;
};

/// Every data set. Adding one ends with one line in registry.cpp.
const Registry<DatasetEntry>& datasets();

/// The data set of YAML such as "name: folder", with settings such as "path=my_images" on top.
DatasetChoice read_dataset(const std::string& yaml, const std::vector<std::string>& settings = {});

}  // namespace vitrine
