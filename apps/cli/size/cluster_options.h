// Options of questions about a whole cluster: the job, its GPUs and fabric, and links between
// sites.
#pragma once

#include <CLI/App.hpp>
#include <string>

#include "apps/cli/size/job_options.h"
#include "apps/cli/size/question_options.h"
#include "planner/size_cluster.h"

namespace heddle::cli {

struct ClusterOptions {
  JobOptions job;
  std::string gpu = "h100";
  double nic_bits_per_s = 0;    // 0: the fabric's
  double oversubscription = 0;  // 0: the fabric's
  planner::ClusterQuestion question;
  bool selective_repeat = false;
  QuestionOptions common;
};

// What the options ask; its model beside it.
struct AskedCluster {
  planner::ModelShape model;
  planner::ClusterQuestion question;
};

// Adds all but the number of sites, and sets defaults. `options` must outlive the command.
void add_cluster_options(CLI::App& command, ClusterOptions& options);

// Errors: those of the model, the GPU and the fabric.
Result<AskedCluster> asked_cluster(const ClusterOptions& options);

}  // namespace heddle::cli
