#include "vitrine/data/registry.h"

#include "vitrine/data/addition.h"
#include "vitrine/data/cifar10.h"
#include "vitrine/data/fashion_mnist.h"
#include "vitrine/data/image_folder.h"
#include "vitrine/data/sentences.h"
#include "vitrine/data/synthetic.h"
#include "vitrine/data/waves.h"

namespace vitrine {

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
    return r;
  }();
  return registry;
}

}  // namespace vitrine
