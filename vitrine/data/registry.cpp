#include "vitrine/data/registry.h"

#include "vitrine/data/addition.h"
#include "vitrine/data/byte_sequences.h"
#include "vitrine/data/cifar10.h"
#include "vitrine/data/fashion_mnist.h"
#include "vitrine/data/image_folder.h"
#include "vitrine/data/sentences.h"
#include "vitrine/data/synthetic.h"
#include "vitrine/data/waves.h"

namespace vitrine {

DatasetEntry built_in_entry(std::string summary,
                            std::function<Splits(const DataConfig&, uint64_t seed)> batches) {
  return {.summary = std::move(summary),
          .traits =
              [](const DataConfig&) {
                return DatasetTraits{.image = 1, .channels = 1, .mean = {0}, .std = {1}};
              },
          .open = nullptr,
          .fetch =
              [](const DataConfig& config, const std::string&) {
                return config.dataset + ": part of the program, nothing to fetch";
              },
          .batches = std::move(batches)};
}

const Registry<DatasetEntry>& datasets() {
  static const auto registry = [] {
    Registry<DatasetEntry> r("data set");
    r.add("cifar10", cifar10_entry());
    r.add("fashion_mnist", fashion_mnist_entry());
    r.add("folder", image_folder_entry());
    r.add("synthetic", synthetic_entry());
    r.add("addition", addition_entry());
    r.add("waves", waves_entry());
    r.add("sentences", sentences_entry());
    r.add("cifar10_bytes", cifar10_bytes_entry());
    r.add("bytes", bytes_entry());
    return r;
  }();
  return registry;
}

}  // namespace vitrine
