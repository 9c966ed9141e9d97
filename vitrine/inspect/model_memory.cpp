#include "vitrine/inspect/model_memory.h"

#include <torch/torch.h>
#include <unistd.h>

#include "vitrine/core/error.h"
#include "vitrine/models/model.h"
#include "vitrine/models/registry.h"
#include "vitrine/models/shapes_only.h"

namespace vitrine {
namespace {

/// Nothing allocated; torch refuses a single tensor of more bytes than an integer can count.
double weight_bytes(const ModelChoice& choice) {
  const ShapesOnly shapes_only;
  try {
    double bytes = 0;
    for (const auto& weight : choice.build()->parameters())
      bytes += static_cast<double>(weight.nbytes());
    return bytes;
  } catch (const c10::Error&) {
    fail("model: a weight of {} has more than 2^63 bytes; choose a smaller one", choice.name());
  }
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
