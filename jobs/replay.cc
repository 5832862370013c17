// See replay.h.
#include "jobs/replay.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "collectives/configured.h"
#include "engine/configured.h"
#include "jobs/replay/replay_control.h"
#include "jobs/replay/replay_flows.h"
#include "jobs/replay/replay_rank.h"
#include "jobs/replay/sent_counter.h"

namespace heddle::jobs {
namespace {

// A process of the run.
class ReplayProcess {
 public:
  ReplayProcess(const ReplayPlan& plan, const Config& config) : plan_(plan), config_(config) {}

  Result<std::optional<ReplayResults>> run(const collectives::MeetOptions& meeting) {
    auto control = ReplayControl::meet(config_, meeting);
    if (!control) return fail(control.error());
    control_ = std::move(*control);
    if (Result<void> right = check_hosts(); !right) return fail(right.error());
    if (Result<void> opened = open_endpoint(); !opened) return fail(opened.error());
    auto addresses = control_->exchange(endpoint_->local_address().port);
    if (!addresses) return fail(addresses.error());
    const ReplayRole& role = plan_.roles[control_->group().rank];
    Result<std::string> mine = role.job ? run_rank(role, *addresses) : run_flows(role, *addresses);
    if (!mine) return fail(mine.error());
    auto records = control_->gather(*mine);
    if (!records) return fail(records.error());
    if (control_->group().rank != 0) return std::optional<ReplayResults>();
    return merge(*records);
  }

 private:
  // In a lab each process is where its rank is to be.
  Result<void> check_hosts() const {
    if (!plan_.lab) return {};
    for (uint32_t i = 0; i < plan_.roles.size(); ++i) {
      const std::string& is = control_->group().hosts[i];
      const std::string& should = plan_.host_name(plan_.roles[i]);
      if (is == should) continue;
      return fail(ErrorCode::kInvalid, "cannot run the workload in the lab",
                  fmt::format("process {} runs on {} and not on {}", i, is, should),
                  "leave starting processes to `heddle workload run`");
    }
    return {};
  }

  Result<void> open_endpoint() {
    Result<engine::Options> options = collectives::configured_rank_options(config_);
    if (!options) return fail(options.error());
    options->sink = &sent_;
    if (!plan_.roles[control_->group().rank].job) {
      options->transport.max_channels = topology::kMaxFlowsOfPair;
      options->transport.max_posted = topology::kMaxFlowsOfPair;
    }
    auto opened = engine::Endpoint::open(engine::configured_network(config_), *options);
    if (!opened) return fail(opened.error());
    endpoint_ = std::move(*opened);
    return {};
  }

  Result<std::string> run_rank(const ReplayRole& role,
                               const std::vector<transport::Address>& addresses) {
    auto options = collectives::configured_communicator_options(config_);
    if (!options) return fail(options.error());
    options->shared_memory = collectives::SharedMemory::kNever;  // hosts have one rank of a job
    std::vector<transport::Address> of_job;
    for (size_t i = 0; i < plan_.roles.size(); ++i) {
      if (plan_.roles[i].job == role.job) of_job.push_back(addresses[i]);
    }
    auto rank = ReplayRank::create({plan_.workload, *role.job, role.rank, *endpoint_, sent_},
                                   *options, std::move(of_job));
    if (!rank) return fail(rank.error());
    if (Result<void> ran = open_and_run(**rank); !ran) return fail(ran.error());
    return record_of_job(*role.job, (*rank)->outcome(), counts());
  }

  Result<std::string> run_flows(const ReplayRole& role,
                                const std::vector<transport::Address>& addresses) {
    std::vector<transport::Address> of_hosts(plan_.topology.hosts.size());
    for (size_t host = 0; host < of_hosts.size(); ++host) {
      if (plan_.flow_roles[host]) of_hosts[host] = addresses[*plan_.flow_roles[host]];
    }
    auto flows = ReplayFlows::create(plan_.workload, role.host, *endpoint_, std::move(of_hosts));
    if (!flows) return fail(flows.error());
    if (Result<void> ran = open_and_run(**flows); !ran) return fail(ran.error());
    return record_of_flows(plan_.workload, role.host, (*flows)->outcomes(), counts());
  }

  template <typename Part>
  Result<void> open_and_run(Part& part) {
    if (Result<void> opened = part.open(); !opened) return opened;
    const Result<Nanos> zero = control_->agree_on_start();
    if (!zero) return fail(zero.error());
    before_ = {sent_.segments(), sent_.segments_retransmitted()};
    return part.run(*zero);
  }

  // Since time 0.
  ReplayCounts counts() const {
    return {sent_.segments() - before_.segments_sent,
            sent_.segments_retransmitted() - before_.segments_retransmitted};
  }

  Result<std::optional<ReplayResults>> merge(const std::vector<std::string>& records) const {
    ReplayResults results(plan_.workload);
    for (const std::string& record : records) {
      auto added = add_record(plan_.workload, record, results);
      if (!added) return fail(added.error());
    }
    return std::optional(std::move(results));
  }

  const ReplayPlan& plan_;
  const Config& config_;
  SentCounter sent_;
  std::unique_ptr<ReplayControl> control_;
  std::unique_ptr<engine::Endpoint> endpoint_;
  ReplayCounts before_;
};

// What each process reads by itself.
Result<void> check_file(const std::string& path) {
  constexpr std::array<std::string_view, 3> kOfThisProcess = {"/dev/stdin", "/dev/fd/",
                                                              "/proc/self/"};
  const bool own = std::any_of(kOfThisProcess.begin(), kOfThisProcess.end(),
                               [&path](std::string_view each) { return path.starts_with(each); });
  std::error_code ignored;
  // A folder of traces, or what their names begin with.
  const auto kind = std::filesystem::status(path, ignored).type();
  const bool file = kind == std::filesystem::file_type::regular ||
                    kind == std::filesystem::file_type::directory ||
                    kind == std::filesystem::file_type::not_found;
  if (path.empty() || (!own && file)) return {};
  return fail(ErrorCode::kInvalid, "cannot run the workload",
              path + " is for one process to read, and each of the run reads it",
              "write it to a file first");
}

// Reports errors of the configuration once, and not in each process. Hosts of a lab have different
// addresses, which are checked there.
Result<void> check_config(const Config& config, const ReplayPlan& plan) {
  const auto of_ranks = collectives::configured_communicator_options(config);
  if (!of_ranks) return fail(of_ranks.error());
  Result<engine::Options> options = collectives::configured_rank_options(config);
  if (!options) return fail(options.error());
  if (plan.lab) return {};
  options->recording.directory.clear();
  const auto opened = engine::Endpoint::open(engine::configured_network(config), *options);
  return opened ? Result<void>() : fail(opened.error());
}

}  // namespace

Result<void> check_replay(const ReplayOptions& options, const ReplayPlan& plan,
                          const Config& config) {
  for (const std::string& path : {options.workload, options.topology}) {
    if (Result<void> file = check_file(path); !file) return file;
  }
  return check_config(config, plan);
}

Result<std::optional<ReplayResults>> run_replay_process(const ReplayPlan& plan,
                                                        const Config& config,
                                                        const collectives::MeetOptions& meeting) {
  return ReplayProcess(plan, config).run(meeting);
}

bool all_done(const ReplayPlan& plan, const ReplayResults& results) {
  for (size_t i = 0; i < results.jobs.size(); ++i) {
    const JobOutcome& job = results.jobs[i];
    if (!job.error.empty() || job.ranks_done < plan.workload.jobs[i].ranks.size()) return false;
  }
  return std::all_of(results.flows.begin(), results.flows.end(),
                     [](const auto& flow) { return flow.received != Nanos::never(); });
}

Nanos duration_of(const ReplayResults& results) {
  Nanos last;
  for (const JobOutcome& job : results.jobs) {
    for (const StepOutcome& step : job.steps) last = std::max(last, step.ended);
    if (!job.error.empty()) last = std::max(last, job.failed_at);
  }
  for (const simulator::FlowOutcome& flow : results.flows) {
    if (flow.received != Nanos::never()) last = std::max(last, flow.received);
  }
  return last;
}

}  // namespace heddle::jobs
