// What the overview of a site shows: lines for people, JSON, and metrics.
#pragma once

#include <string>
#include <vector>

#include "apps/cli/json.h"
#include "messaging/subscription.h"
#include "metrics/exposition.h"
#include "monitor/overview.h"

namespace heddle::cli {

struct OverviewDocument {
  std::vector<monitor::OverviewJob> jobs;
  std::vector<double> heard_seconds_ago;  // of each
  messaging::SubscriptionState server;
  uint64_t not_read = 0;
};

std::string text_of(const monitor::OverviewEvent& event);
Json json_of(const monitor::OverviewEvent& event);

// A line a job.
std::string table_of(const OverviewDocument& document);
Json json_of(const OverviewDocument& document);
std::vector<metrics::Family> families_of(const OverviewDocument& document);

}  // namespace heddle::cli
