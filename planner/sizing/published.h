// Published measurements that the formulas are compared with, each with its source.
#pragma once

#include <string>
#include <vector>

#include "planner/job_shape.h"
#include "planner/model_shape.h"

namespace heddle::planner {

// Operations a second and GPU of a training job.
struct PublishedStep {
  std::string name;
  std::string source;
  bool recalled = false;  // its figure was not looked up again
  std::string gpu;
  double nic_bits_per_s = 0;
  bool counts_recomputation = false;  // in `flops_per_s`
  double flops_per_s = 0;
  ModelShape model;
  JobShape job;
};
std::vector<PublishedStep> published_steps();

// Bus bandwidth of a large all-reduce, in bytes a second.
struct PublishedAllReduce {
  std::string name;
  std::string source;
  bool recalled = false;
  double nodes = 1;
  double nvlink_bytes_per_s = 0;  // of a GPU, in one direction
  double nic_bytes_per_s = 0;     // of all NICs that the rings of a node use
  double share_of_links = 1;      // of uplinks that are left
  double bus_bytes_per_s = 0;
};
std::vector<PublishedAllReduce> published_all_reduces();

}  // namespace heddle::planner
