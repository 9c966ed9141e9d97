#include "vitrine/ops/cpu_kernel.h"

namespace vitrine {
namespace {

thread_local bool references_wanted = false;

}  // namespace

ReferenceOps::ReferenceOps() : outer_(references_wanted) { references_wanted = true; }
ReferenceOps::~ReferenceOps() { references_wanted = outer_; }
bool ReferenceOps::wanted() { return references_wanted; }

}  // namespace vitrine
