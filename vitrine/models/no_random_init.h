#pragma once

#include <memory>

namespace vitrine {

/// While it lives, random initialisation on this thread leaves tensors as they are, with undefined
/// values: for models whose weights are loaded next. Drawing numbers for ViT-B/16 takes longer than
/// loading it.
class NoRandomInit {
 public:
  NoRandomInit();
  NoRandomInit(const NoRandomInit&) = delete;
  NoRandomInit& operator=(const NoRandomInit&) = delete;
  ~NoRandomInit();

 private:
  struct Guard;
  std::unique_ptr<Guard> guard_;
};

}  // namespace vitrine
