#pragma once

#include <torch/types.h>

#include <memory>
#include <string_view>

#include "vitrine/formats/file_mapping.h"

namespace vitrine {

/// The numbers in `part` of a mapped file as one row, which keeps the file mapped. They are not
/// copied, unless they lie where the processor should not read numbers of their size.
torch::Tensor mapped_tensor(const std::shared_ptr<const FileMapping>& file, std::string_view part,
                            torch::ScalarType dtype);

/// Whether the tensor's numbers lie in a mapped file.
bool is_mapped(const torch::Tensor& tensor);

/// Frees the memory of a mapped tensor whose numbers have been taken (`FileMapping::give_back`);
/// does nothing to others.
void give_back(const torch::Tensor& tensor);

}  // namespace vitrine
