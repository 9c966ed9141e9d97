#include "tests/fuzz/must.h"
#include "tests/fuzz/targets.h"
#include "vitrine/studies/sweep_config.h"

namespace vitrine::fuzz {

void sweep(std::string_view bytes) {
  const auto config = parse_sweep(std::string(bytes), "input");
  must(!config.seeds.empty() && config.workers >= 1 && config.threads >= 1, "a number is missing");
  must(smoke_sweep_config(config).seeds.size() == 1, "the smoke size has many seeds");
}

}  // namespace vitrine::fuzz
