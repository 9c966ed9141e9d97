#include "vitrine/inspect/model_memory.h"

#include <torch/torch.h>
#include <unistd.h>

#include "vitrine/core/error.h"
#include "vitrine/models/shapes_only.h"
#include "vitrine/models/model.h"
#include "vitrine/models/registry.h"

namespace vitrine {
namespace {

/// In double: the product of such sizes may be more than an integer holds.
double weight_bytes(const ModelChoice& choice) {
  const ShapesOnly shapes_only;
  double bytes = 0;
  for (const auto& weight : choice.build()->parameters()) {
    auto size = static_cast<double>(weight.element_size());
    for (const auto length : weight.sizes()) size *= static_cast<double>(length);
    bytes += size;
  }
  return bytes;
}

double machine_bytes() {
  return static_cast<double>(::sysconf(_SC_PHYS_PAGES)) *
         static_cast<double>(::sysconf(_SC_PAGE_SIZE));
}

}  // namespace

void check_model_fits(const ModelChoice& choice, int64_t copies) {
  const double needed = weight_bytes(choice) * static_cast<double>(copies), has = machine_bytes();
  check(
      needed <= has,
      "model: the weights of {}{} take {:.0f} bytes, the machine has {:.0f}; choose a smaller one",
      choice.name(), copies > 1 ? " and what training keeps beside them" : "", needed, has);
}

}  // namespace vitrine
