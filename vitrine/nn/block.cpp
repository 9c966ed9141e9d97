#include "vitrine/nn/block.h"

#include "vitrine/nn/recompute.h"

namespace vitrine {
namespace {

thread_local BlockLimit* innermost_limit = nullptr;

}  // namespace

BlockLimit::BlockLimit(int64_t count) : count_(count), outer_(innermost_limit) {
  innermost_limit = this;
}
BlockLimit::~BlockLimit() { innermost_limit = outer_; }

bool BlockLimit::next_block_runs() {
  return innermost_limit == nullptr || innermost_limit->blocks_++ < innermost_limit->count_;
}

std::unique_ptr<BlockCache> BlockImpl::make_cache(int64_t) const {
  fail("{}: tokens attend to later ones, so it cannot generate token by token", name());
}

torch::Tensor BlockImpl::step(const torch::Tensor&, BlockCache&) {
  fail("{}: it cannot generate token by token", name());
}

void BlockListImpl::push_back(std::shared_ptr<BlockImpl> block) {
  blocks_.push_back(register_module(std::to_string(blocks_.size()), std::move(block)));
}

torch::Tensor BlockListImpl::forward_first(size_t count, torch::Tensor x, bool recompute) {
  TORCH_INTERNAL_ASSERT(count <= size(), "there are only ", size(), " blocks");
  for (size_t i = 0; i < count; ++i) {
    if (!BlockLimit::next_block_runs()) continue;
    const auto& block = blocks_[i];
    const auto forward = [block](const torch::Tensor& in) { return block->forward(in); };
    x = recompute ? recomputed(forward, x) : forward(x);
  }
  return x;
}

}  // namespace vitrine
