#include "bench/serve/checkpoint.h"

#include <torch/torch.h>

#include "vitrine/core/error.h"
#include "vitrine/models/model.h"
#include "vitrine/models/registry.h"
#include "vitrine/weights/checkpoint.h"
#include "vitrine/weights/vit_preprocess.h"

namespace vitrine::bench {

void save_random_checkpoint(const fs::path& path, const std::string& model) {
  const auto choice = read_model("name: " + model, {}, "serve_load");
  torch::manual_seed(1);
  const auto network = choice.build();
  const auto shape = network->image_shape();
  check(shape.has_value(), "{} does not classify images", model);
  const torch::NoGradGuard no_grad;
  for (auto& p : network->parameters()) p.add_(0.02 * torch::randn_like(p));  // also a zero head
  std::vector<std::string> classes;
  for (int64_t i = 0; i < shape->classes; ++i) classes.push_back(fmt::format("class {}", i));
  save_checkpoint(path, *network,
                  {.model = choice, .preprocess = timm_preprocess(*shape), .classes = classes});
}

}  // namespace vitrine::bench
