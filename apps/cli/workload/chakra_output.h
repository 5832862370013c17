// Chakra traces as a command's output: options and the folder of files.
#pragma once

#include <CLI/App.hpp>
#include <string>

#include "base/result.h"
#include "topology/job.h"

namespace heddle::cli {

struct ChakraOutput {
  std::string folder;  // new or empty
  std::string format = "protobuf";
  std::string name;  // of the job: files are NAME.RANK.et
};

// "--format" and "--name".
void add_chakra_options(CLI::App& command, ChakraOutput& output);

// Writes a trace for each rank, and prints how many. Errors: kInUse (the folder has files),
// kExhausted, kSystem.
Result<void> write_chakra(const topology::Job& job, const ChakraOutput& output);

}  // namespace heddle::cli
