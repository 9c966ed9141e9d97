#include "vitrine/cli/run.h"

int main(int argc, char** argv) { return vitrine::cli::run({argv + 1, argv + argc}, {}); }
