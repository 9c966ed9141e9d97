#include "vitrine/ops/huge_pages.h"

#include <c10/core/CPUAllocator.h>
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstring>

namespace vitrine {
namespace {

constexpr int kHeapGrowth = 128 << 20;  // so that few huge pages are cut by the end of the heap

uintptr_t end_of_heap() { return reinterpret_cast<uintptr_t>(sbrk(0)); }

/// The allocator that was there, which may have grown the heap: nobody has written yet to what is
/// new, so that its pages are still to be chosen.
class HugePageAllocator : public c10::Allocator {
 public:
  explicit HugePageAllocator(c10::Allocator* base) : base_(base), advised_(end_of_heap()) {}

  c10::DataPtr allocate(size_t bytes) const override {
    auto data = base_->allocate(bytes);
    const auto end = end_of_heap();
    auto begin = advised_.load(std::memory_order_relaxed);
    if (begin < end && advised_.compare_exchange_strong(begin, end)) {
      const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
      const auto first = begin - begin % page;
      // A system without huge pages says no, and all stays as it is.
      madvise(reinterpret_cast<void*>(first), end - first, MADV_HUGEPAGE);
    }
    return data;
  }
  c10::DeleterFnPtr raw_deleter() const override { return base_->raw_deleter(); }
  // Asked for by newer versions of the class.
  void copy_data(void* to, const void* from, size_t bytes) const { std::memcpy(to, from, bytes); }

 private:
  c10::Allocator* base_;
  mutable std::atomic<uintptr_t> advised_;  // what lies below has been asked for
};

}  // namespace

void use_huge_pages() {
  static const bool once = [] {
    mallopt(M_TOP_PAD, kHeapGrowth);
    c10::SetCPUAllocator(new HugePageAllocator(c10::GetCPUAllocator()));  // as long as the process
    return true;
  }();
  (void)once;
}

}  // namespace vitrine
