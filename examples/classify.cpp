// Names what is on an image: classify RUN_OR_CHECKPOINT IMAGE

#include <cstdio>
#include <exception>

#include "vitrine/infer/classifier.h"

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: classify RUN_OR_CHECKPOINT IMAGE\n");
    return 2;
  }
  try {
    const auto classifier = vitrine::Classifier::load(argv[1]);
    for (const auto& p : classifier.classify_file(argv[2], /*k=*/5))
      std::printf("%6.2f %%  %s\n", 100 * p.probability, p.label.c_str());
  } catch (const std::exception& e) {
    std::fprintf(stderr, "error: %s\n", e.what());
    return 1;
  }
}
