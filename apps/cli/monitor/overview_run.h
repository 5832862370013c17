// `heddle monitor --site`: shows the faults of all jobs of a site, as their monitors publish them.
#pragma once

#include <string>

namespace heddle::cli {

struct OverviewOptions {
  std::string address;  // of NATS, with the subject
  std::string access;   // file; empty: the environment
  std::string serve;
  std::string token_file;  // that readers of the page must have; empty: none
  std::string span;        // how long; empty: until it is interrupted
  bool json = false;
};

// Returns the exit status.
int run_overview(const OverviewOptions& options);

}  // namespace heddle::cli
