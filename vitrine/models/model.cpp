#include "vitrine/models/model.h"

#include "vitrine/core/error.h"
#include "vitrine/models/backbone.h"

namespace vitrine {

torch::Tensor Model::forward(const torch::Tensor& x) { return logits(features(x)); }

std::vector<torch::Tensor> Model::logits_by_head(const torch::Tensor& features) {
  return {logits(features)};
}

void Model::reset_head(int64_t) {
  fail("reset_head: {} has no head to replace; image classifiers with a linear head have one",
       name());
}

std::optional<BackboneConfig> Model::as_backbone() const { return std::nullopt; }

std::vector<ParameterInfo> Model::parameter_info() const {
  return vitrine::parameter_info(*this, blocks_in_order());
}

void Model::replace_head(const std::string& name, Linear& head, int64_t classes) {
  check(classes > 0, "reset_head: classes {} must be positive", classes);
  Linear fresh(LinearConfig{.in = head->config.in, .out = classes});
  {
    const torch::NoGradGuard no_grad;
    for (auto& parameter : fresh->parameters()) parameter.zero_();
  }
  fresh->to(head->weight.device(), head->weight.scalar_type());
  fresh->train(is_training());
  head = replace_module(name, fresh);
}

}  // namespace vitrine
