// The program `heddle`.
#include "apps/cli/program.h"

int main(int argc, char** argv) { return heddle::cli::run_program(argc, argv); }
