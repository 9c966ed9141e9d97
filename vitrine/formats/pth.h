#pragma once

#include "vitrine/core/files.h"
#include "vitrine/formats/safetensors.h"

namespace vitrine {

/// Reads the weights in a file of torch.save (.pth, .pt, .bin), in its form since PyTorch 1.6 (a
/// zip archive) or the one before. Nothing in the file is executed.
///
/// The tensors are those of a state dict: the file's own, or that under `state_dict_ema`,
/// `model_ema`, `state_dict` or `model`, the first that is there. A `module.` before every name
/// (DataParallel) is dropped. The file is mapped, its numbers are read when they are touched. One
/// that is cut short, damaged, inconsistent, without weights or with code in it throws an `Error`
/// that names it.
TensorFile load_pth(const fs::path& path, TensorContent content = TensorContent::Values);

}  // namespace vitrine
