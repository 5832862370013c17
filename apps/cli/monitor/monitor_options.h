// What `heddle monitor` can be asked for on its command line.
#pragma once

#include <CLI/App.hpp>
#include <string>
#include <vector>

#include "apps/cli/monitor/overview_run.h"
#include "apps/cli/monitor/site_output.h"

namespace heddle::cli {

struct MonitorOptions {
  std::string folder;
  std::string hosts;
  std::string via = "ssh";
  std::string copies;
  std::string plan;         // a file here
  std::string plan_target;  // on each of `hosts`; empty: FOLDER.plan.json
  std::string every = "1s";
  std::string serve;
  std::string token_file;
  std::string node_records;
  std::string on_change;
  std::string webhook;  // URL or @FILE
  std::string name;
  std::string series_every = "10s";
  SiteOptions site;
  OverviewOptions overview;
  std::string policy;
  std::string audit;
  bool act = false;
  bool json = false;
  bool gpus = false;
  std::string gpus_every = "5s";
  std::vector<const CLI::Option*> of_a_job;  // which need one

  // One of those that was given; null: none.
  const CLI::Option* given_of_a_job() const;
};

void add_monitor_options(CLI::App& command, MonitorOptions& options);

}  // namespace heddle::cli
