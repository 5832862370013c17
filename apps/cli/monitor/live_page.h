// What `heddle monitor --serve` serves, of one job and of a site: a page, its state and metrics.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "metrics/exposition.h"
#include "metrics/server.h"

namespace heddle::cli {

struct LivePage {
  std::string address;     // "[ADDRESS:]PORT"; empty: nothing is served
  std::string token_file;  // that readers must have; empty: none
  const char* page;        // of pages.h
  std::string title;
  // Both are called by the server's thread.
  std::function<std::vector<metrics::Family>()> families;
  std::function<std::string()> state;  // as JSON
};

// Serves until the server ends, and prints where; null without an address. Errors: kInvalid (the
// address), and those of metrics::Server.
Result<std::unique_ptr<metrics::Server>> serve(const LivePage& page);

}  // namespace heddle::cli
