#pragma once

#include <string_view>

namespace vitrine {

/// What a name in a pickle of torch.save means to its reader.
enum class PickleGlobal {
  Unknown,      // nothing is made of it
  Code,         // it exists to run code or to reach what does
  Tensor,       // (storage, offset, shape, strides, ...)
  Parameter,    // (tensor, ...)
  TypedTensor,  // (function, type, arguments, state)
  Dictionary,
  Sequence
};

/// `name` with its module: "torch._utils._rebuild_tensor_v2".
PickleGlobal pickle_global(std::string_view name);

}  // namespace vitrine
