// See sites_command.h.
#include "apps/cli/size/sites_command.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "apps/cli/command_line/exit_statuses.h"
#include "apps/cli/plan/csv.h"
#include "apps/cli/size/cluster_options.h"
#include "apps/cli/size/params.h"
#include "apps/cli/size/quantity_options.h"
#include "apps/cli/size/question_options.h"
#include "planner/size_sites.h"

namespace heddle::cli {
namespace {

constexpr const char* kExample = R"(Example:
  heddle size sites --surplus surplus.csv --model llama-3-8b --gpus 1024 --zero 2 --site-km 300
  heddle size sites --surplus surplus.csv --model llama-3-8b --gpus 1024 --zero 2 --site-km 300 \
    --site-rate 1.6T --gpu-price 2 --grid-price 0.15 --link-price 40000

The CSV has a line for each hour of each site, with the columns site, hour (from 0) and kwh.
Its sites have equal shares of the GPUs.)";

constexpr uint64_t kMostHours = 8'784;

struct SitesOptions {
  ClusterOptions cluster;
  std::string surplus;
  planner::SitesQuestion question;
};

std::optional<double> kwh_of(const std::string& text) {
  double value = 0;
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = wrong == std::errc() && end == text.data() + text.size();
  return whole && std::isfinite(value) && value >= 0 ? std::optional(value) : std::nullopt;
}

Result<std::vector<planner::SiteSurplus>> read_surplus(const std::string& file) {
  std::vector<planner::SiteSurplus> sites;
  const auto use = [&sites](const std::vector<std::string>& fields) -> std::string {
    if (fields[0].empty()) return "the site has no name";
    const std::optional<uint64_t> hour = csv_number(fields[1]);
    if (!hour || *hour >= kMostHours) {
      return fmt::format("'{}' is no hour from 0 to {}", fields[1], kMostHours - 1);
    }
    const std::optional<double> kwh = kwh_of(fields[2]);
    if (!kwh) return "'" + fields[2] + "' is no number of kWh from 0 on";
    auto site = std::find_if(sites.begin(), sites.end(),
                             [&fields](const auto& each) { return each.name == fields[0]; });
    if (site == sites.end()) {
      if (sites.size() == params::size::kMostSites)
        return fmt::format("it has more than {} sites", params::size::kMostSites);
      site = sites.insert(sites.end(), {fields[0], {}});
    }
    if (*hour != site->kwh.size()) {
      return fmt::format("hour {} of '{}' comes where hour {} was to come", *hour, fields[0],
                         site->kwh.size());
    }
    site->kwh.push_back(*kwh);
    return {};
  };
  const CsvTable table{file,
                       {"site", "hour", "kwh"},
                       "give the hours of each site in order, from 0 on: site,hour,kwh"};
  if (Result<void> read = read_csv(table, use); !read) return fail(read.error());
  if (sites.empty()) {
    return fail(ErrorCode::kInvalid, "cannot use " + file, "it has no hours", table.advice);
  }
  return sites;
}

Result<planner::Answer> answer_of(const SitesOptions& options) {
  Result<AskedCluster> asked = asked_cluster(options.cluster);
  if (!asked) return fail(asked.error());
  auto surplus = read_surplus(options.surplus);
  if (!surplus) return fail(surplus.error());
  planner::SitesQuestion question = options.question;
  question.cluster = asked->question;
  question.surplus = std::move(*surplus);
  return planner::size_sites(asked->model, question);
}

void add_power_options(CLI::App& command, SitesOptions& options) {
  command.add_option("--surplus", options.surplus, "surplus of each site, by hour: site,hour,kwh")
      ->required()
      ->type_name("FILE");
  planner::SitesQuestion& question = options.question;
  add_number(command, "--host-watts", question.host_watts, "of a GPU's share of its host and NICs",
             {0, 100'000});
  add_number(command, "--pue", question.pue, "power of the building over that of the hosts",
             {1, 10});
  planner::Prices& prices = question.prices;
  const auto add_price = [&command](const char* name, double& price, const char* about) {
    add_number(command, name, price, about, {0, params::size::kMostPrice});
  };
  add_price("--surplus-price", prices.surplus_kwh, "of a kWh of surplus, in any currency");
  add_price("--grid-price", prices.grid_kwh, "of a kWh of the grid");
  add_price("--gpu-price", prices.gpu_hour, "of an hour of a GPU, running or not");
  add_price("--link-price", prices.link_month, "of a month of the cables from a site to the next");
}

}  // namespace

void add_size_sites_command(CLI::App& group, Invocation& invocation) {
  CLI::App* const sites =
      group.add_subcommand("sites", "GPU-hours and cost of a job on the surplus power of sites");
  sites->footer(kExample +
                exit_status_help("the surplus powers no replica of the job", "could not run"));
  const auto options = std::make_shared<SitesOptions>();
  add_power_options(*sites, *options);
  add_cluster_options(*sites, options->cluster);
  add_question_options(*sites, options->cluster.common);
  sites->callback([options, sites, &invocation] {
    invocation.run = [options, sites, &invocation] {
      return finish_question(answer_of(*options),
                             {*sites, options->cluster.common, invocation.places});
    };
  });
}

}  // namespace heddle::cli
