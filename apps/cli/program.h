// The program `heddle`: its tree of commands, and how a command line becomes the run of one of
// them. To add a command: its own file with an add_* function, and one line in program.cc.
#pragma once

#include <CLI/App.hpp>
#include <functional>
#include <map>
#include <memory>
#include <string>

namespace heddle::cli {

// Where a file gives the value of an option: "job.toml:4:8", and the value where it is a text.
struct FilePlace {
  std::string place;
  std::string text;
};
using FilePlaces = std::map<std::string, FilePlace>;  // by option: "--gpus"

// What a command hands to the program when its words are on the command line. It returns an exit
// status.
struct Invocation {
  std::function<int()> run;
  FilePlaces places;
};

// Builds the whole tree below `root`; the commands keep their options alive in their callbacks.
void add_commands(CLI::App& root, Invocation& invocation);

// main() without exceptions: returns the exit status.
int run_program(int argc, const char* const* argv);

}  // namespace heddle::cli
