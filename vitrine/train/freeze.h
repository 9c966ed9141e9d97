#pragma once

#include <torch/types.h>

#include <string>
#include <vector>

namespace vitrine {

class Model;

/// Throws unless `what` is a value of `train.freeze`: none, model.backbone, embed, backbone or a
/// number of blocks.
void check_freeze(const std::string& what);

/// Marks the parameters that stay as they are, so that `parameter_info` leaves them out:
/// `model.backbone` is the network before a hybrid's patches, `embed` all before the first block, N
/// that and the first N blocks, `backbone` all that `Model::logits` does not use. Throws if the
/// model has no such backbone or not so many blocks.
void freeze(Model& model, const std::string& what);

/// The parameters through which the output depends on given features.
std::vector<torch::Tensor> head_parameters(Model& model);

/// Training mode, but for batch norms whose parameters are frozen: their statistics stay as well.
void set_training_mode(Model& model);

}  // namespace vitrine
