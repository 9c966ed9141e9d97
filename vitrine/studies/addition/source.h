#pragma once

#include "vitrine/studies/addition/architecture.h"

namespace vitrine {

/// What the document that the study follows reports of its final networks, as it gives it.
struct SourceTuned {
  const char* settings;
  const char* right;  // of 10,000
  const char* deviation_mean;
  const char* deviation_std;
  const char* predict_milliseconds;  // for 10,000 predictions
  const char* kilobytes;             // of the checkpoint
  const char* loss;                  // of training, at `epoch`
  const char* epoch;
};
inline constexpr PerArchitecture<SourceTuned> kSourceTuned{
    {"embed 128, layers 2, channels 64, lr 0.008", "10,000", "0", "0", "9,300", "482", "0.0000",
     "650"},
    {"embed 8, layers 2, hidden 32, lr 0.006", "10,000", "0", "0", "14,660", "23", "0.0001",
     "5,000"}};

/// What it reports of networks trained with a low learning rate.
struct SourceLowRate {
  const char* settings;
  const char* right;
  const char* deviation_mean;
  const char* deviation_std;
  const char* train_seconds;  // for 1,000 epochs
};
inline constexpr PerArchitecture<SourceLowRate> kSourceLowRate{
    {"embed 4096, layers 2, channels 64", "7,849", "-0.49", "13.53", "1,010"},
    {"embed 4096, layers 2, hidden 64", "8,221", "-0.59", "13.55", "208"}};

}  // namespace vitrine
