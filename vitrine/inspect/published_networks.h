#pragma once

// A published comparison of networks, and what the models here count beside it.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace vitrine {

/// A row as the reference has it: rounded there, and its accuracies not measured here.
struct PublishedNetwork {
  std::string network;  // its name there
  std::string model;    // that of `models()`
  int64_t image = 224;
  double parameters = 0;               // millions
  double multiply_adds = 0;            // thousands of millions, called FLOPs there
  double imagenet = 0;                 // top-1 accuracy in %
  std::optional<double> real{}, v2{};  // the same on ImageNet ReaL and ImageNet V2
  std::string note{};                  // why the model's counts are others, or what to know of it
  std::string reference = "CvT, table 3";
};

/// Every row, in the order of the references.
const std::vector<PublishedNetwork>& published_networks();

/// A row with the counts of its model.
struct ComparedNetwork {
  PublishedNetwork published;
  int64_t parameters = 0, multiply_adds = 0;

  /// Whether the count, rounded as there, is another number.
  bool parameters_differ() const;
  /// Whether they differ by more than 3 %.
  bool multiply_adds_differ() const;
};

ComparedNetwork compared(const PublishedNetwork& row);

}  // namespace vitrine
