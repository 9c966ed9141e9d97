#include "vitrine/nn/attention_capture.h"

#include <torch/torch.h>

namespace vitrine {
namespace {

thread_local AttentionCapture* innermost = nullptr;

}  // namespace

AttentionCapture::AttentionCapture() : outer_(innermost) { innermost = this; }
AttentionCapture::~AttentionCapture() { innermost = outer_; }
AttentionCapture* AttentionCapture::current() { return innermost; }

}  // namespace vitrine
