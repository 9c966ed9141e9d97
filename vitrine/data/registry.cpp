#include "vitrine/data/registry.h"

#include "vitrine/data/addition.h"
#include "vitrine/data/byte_sequences.h"
#include "vitrine/data/cifar10.h"
#include "vitrine/data/cifar100.h"
#include "vitrine/data/config.h"
#include "vitrine/data/fashion_mnist.h"
#include "vitrine/data/image_folder.h"
#include "vitrine/data/mnist.h"
#include "vitrine/data/sentences.h"
#include "vitrine/data/synthetic.h"
#include "vitrine/data/waves.h"

namespace vitrine {

std::unique_ptr<DatasetBlueprint> DatasetBlueprint::make(const std::string& name) {
  return datasets().get(name).blueprint->clone();
}

std::unique_ptr<Dataset> DatasetBlueprint::open(const DataConfig& config, Split) const {
  const auto& name = config.dataset.name();
  fail("data: '{}' does not consist of images ({})", name, datasets().get(name).summary);
}

std::string DatasetBlueprint::fetch(const DataConfig& config, const std::string&) const {
  return config.dataset.name() + ": part of the program, nothing to fetch";
}

const Registry<DatasetEntry>& datasets() {
  static const auto registry = [] {
    Registry<DatasetEntry> r("data set");
    r.add("cifar10", cifar10_dataset());
    r.add("cifar100", cifar100_dataset());
    r.add("mnist", mnist_dataset());
    r.add("fashion_mnist", fashion_mnist_dataset());
    r.add("folder", image_folder_dataset());
    r.add("synthetic", synthetic_dataset());
    r.add("addition", addition_dataset());
    r.add("waves", waves_dataset());
    r.add("sentences", sentences_dataset());
    r.add("cifar10_bytes", cifar10_bytes_dataset());
    r.add("bytes", bytes_dataset());
    return r;
  }();
  return registry;
}

DatasetChoice read_dataset(const std::string& yaml, const std::vector<std::string>& settings) {
  return read_choice<DatasetChoice>(yaml, settings, "data set");
}

}  // namespace vitrine
