// The program itself holds no tensors: loading LibTorch takes half a second. What needs none is
// answered from texts that were made when the program was built; for all else the commands are
// loaded.

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "vitrine/program/instant_answers.h"

namespace {

using Main = int (*)(int argc, char** argv);

int give(std::string_view answer) {
  std::fwrite(answer.data(), 1, answer.size(), stdout);
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return 0;
  std::fputs("error: the results could not be written; is the device full?\n", stderr);
  return 1;
}

/// How often OpenMP's threads look for work before they sleep. To wake one takes longer than a
/// small layer, but threads that spin for long are in the way of others, and a server has some for
/// its connections.
void choose_spinning(bool serves) {
  if (std::getenv("OMP_WAIT_POLICY") == nullptr)
    setenv("GOMP_SPINCOUNT", serves ? "50" : "1000", /*replace=*/0);
}

/// Runs the commands, which the program finds by its RUNPATH.
int run_commands(int argc, char** argv) {
  choose_spinning(argc > 1 && std::string_view(argv[1]) == "serve");
  void* commands = dlopen("libvitrine_commands.so", RTLD_LAZY | RTLD_GLOBAL);
  auto* run = commands ? reinterpret_cast<Main>(dlsym(commands, "vitrine_main")) : nullptr;
  if (run != nullptr) return run(argc, argv);
  std::fprintf(stderr, "error: %s; install vitrine again\n", dlerror());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  std::string line;
  for (int i = 1; i < argc; ++i) line.append(argv[i]).push_back('\0');
  for (const auto& [arguments, answer] : vitrine::instant_answers())
    if (arguments == line) return give(answer);
  const int code = run_commands(argc, argv);
  std::fflush(nullptr);
  std::_Exit(code);  // the destructors of libraries take a tenth of a second
}
