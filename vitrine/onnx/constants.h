#pragma once

#include <torch/torch.h>

#include <map>
#include <string>
#include <vector>

namespace vitrine {

/// The tensors of a graph that do not depend on its input. Parameters and buffers of the model are
/// known by their names; of all others, those of the same type, shape and content are one.
class ConstantPool {
 public:
  explicit ConstantPool(const torch::nn::Module& model);

  /// The number of this constant. What changes the tensor later does not change the constant.
  int64_t add(const torch::Tensor& t, const std::string& name = "");
  /// Contiguous.
  const torch::Tensor& tensor(int64_t i) const { return entries_.at(i).tensor; }
  /// That of the parameter it was made of; "constant" if it was made of none. Not unique.
  const std::string& name(int64_t i) const { return entries_.at(i).name; }

 private:
  struct Entry {
    torch::Tensor tensor;
    std::string name;
  };
  int64_t put(const std::string& key, const torch::Tensor& t, const std::string& name);
  std::string name_of(const torch::Tensor& t) const;

  std::vector<Entry> entries_;
  std::map<std::string, int64_t> by_key_;                     // by content or by parameter
  std::map<const void*, std::string> parameters_, storages_;  // tensor or storage -> name
};

}  // namespace vitrine
