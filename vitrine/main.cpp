#include "vitrine/cli/command.h"

int main(int argc, char** argv) { return vitrine::cli::run({argv + 1, argv + argc}, {}); }
