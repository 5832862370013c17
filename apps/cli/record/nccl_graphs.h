// "--nccl-graph": NCCL's rings and trees of a recorded job, from its logs and dumps, for the
// commands that show expected traffic.
#pragma once

#include <CLI/App.hpp>
#include <string>
#include <vector>

#include "base/result.h"
#include "insight/traffic.h"
#include "topology/nccl_graph.h"

namespace heddle::cli {

void add_nccl_graph_option(CLI::App& command, std::vector<std::string>& files);

// Reads files, and all files of folders; prints what was left out as warnings. Empty without
// files. Errors: kUnavailable, those of NcclGraphReader.
Result<topology::NcclGraphs> read_nccl_graphs(const std::vector<std::string>& files);

// Warns where no communicator of the recording has as many ranks as one of NCCL's.
void note_unused_graphs(const topology::NcclGraphs& graphs, const insight::Traffic& traffic);

}  // namespace heddle::cli
