// Stage stress: a permutation (each host sends to another), an incast (all send to one) and an
// all-to-all; what links drop and mark meanwhile; and the latency of two hosts beside the incast,
// against theirs on the idle fabric, as GPCNeT asks.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "acceptance/stages/all_to_all.h"
#include "acceptance/stages/flows.h"
#include "acceptance/stages/link_losses.h"
#include "acceptance/stages/load_rows.h"
#include "acceptance/stages/stages.h"
#include "acceptance/stages/tcp_beside.h"
#include "base/quantity.h"

namespace heddle::acceptance {
namespace {

struct Load {
  std::vector<FlowFigures> flows;
  LinkLosses losses;
  double allowed = 0;  // of all flows together
  std::optional<LatencyFigures> victim;

  double sum() const {
    return std::accumulate(
        flows.begin(), flows.end(), 0.0,
        [](double sum, const FlowFigures& flow) { return sum + flow.bits_per_s; });
  }
};

constexpr const char* kIncast = "incast";

class Stress {
 public:
  Stress(Session& session, StageReport& report) : session_(session), report_(report) {}

  Result<void> run() {
    const auto silent = session_.start_servers();
    if (!silent) return fail(silent.error());
    if (session_.interrupted()) return {};
    const uint32_t hosts = session_.hosts();
    std::vector<HostPair> permutation;
    for (uint32_t i = 0; i < hosts; ++i) {
      const uint32_t to = (i + std::max(1U, hosts / 2)) % hosts;
      if (to != i) permutation.push_back({i, to});
    }
    const double pair_share = session_.expectations().pair_share;
    if (Result<void> ran = load("permutation", permutation, pair_share, {}); !ran) return ran;
    if (session_.interrupted()) return {};
    const auto beside = add_tcp_load(
        session_, {"permutation", "permutation", permutation, reached("permutation")}, report_);
    if (!beside) return beside;
    if (session_.interrupted()) return {};
    if (Result<void> ran = run_incast(); !ran || session_.interrupted()) return ran;
    if (Result<void> ran = all_to_all(); !ran || session_.interrupted()) return ran;
    add_marks();
    return {};
  }

 private:
  Result<void> run_incast() {
    const uint32_t hosts = session_.hosts();
    if (hosts < 3) {
      report_.rows.push_back(too_few_hosts_row(kIncast, hosts));
      report_.rows.push_back(too_few_hosts_row("latency beside it", hosts));
      return {};
    }
    // A host far from the receiver to one beside it. Of few hosts both send as well: their ports
    // towards each other carry nothing of it. Of more they send nothing, and share only links.
    const HostPair victim{hosts - 1, 1};
    std::vector<HostPair> incast;
    for (uint32_t i = 1; i < hosts; ++i) {
      const bool is_victim = i == victim.from || i == victim.to;
      if (hosts < params::kHostsForBystanders || !is_victim) incast.push_back({i, 0});
    }
    const auto idle = run_latencies(session_, {victim}, session_.latency_time());
    if (!idle) return fail(idle.error());
    idle_ = idle->front();
    const double incast_share = session_.expectations().incast_share;
    if (Result<void> ran = load(kIncast, incast, incast_share, victim); !ran) return ran;
    if (session_.interrupted()) return {};
    TcpLoad beside{kIncast, kIncast, incast, reached(kIncast)};
    beside.bystander = victim;
    const Json found = report_.data.value("victim", Json::object());
    beside.heddle_us_p99 = number_of(found, "half_round_trip_us_p99");
    return add_tcp_load(session_, beside, report_);
  }

  Result<void> all_to_all() {
    Result<AllToAllLoad> made = run_all_to_all(session_, report_);
    if (!made) return fail(std::move(made).error());
    if (session_.interrupted()) return {};
    losses_.emplace_back("all-to-all", std::move(made->losses));
    segments_.emplace_back("all-to-all", made->segments);
    std::vector<HostPair> all;
    for (uint32_t from = 0; from < session_.hosts(); ++from) {
      for (uint32_t to = 0; to < session_.hosts(); ++to) {
        if (from != to) all.push_back({from, to});
      }
    }
    return add_tcp_load(session_, {"all-to-all", "all_to_all", all, made->bits_per_s, true},
                        report_);
  }

  double reached(const char* load) const {
    return report_.data[load].value("goodput_bits_per_s", 0.0);
  }

  Result<Load> measure(const std::vector<HostPair>& pairs, std::optional<HostPair> victim) {
    Load load;
    const std::vector<double> rates = session_.payload_rates(pairs);
    load.allowed = std::accumulate(rates.begin(), rates.end(), 0.0);
    if (const auto before = session_.take_loads(); !before) return fail(before.error());
    std::vector<Commands::Id> ids;
    const Nanos start_at = session_.common_start();
    for (const HostPair& pair : pairs) {
      const auto id = start_flow(session_, pair, session_.flow_time(), start_at);
      if (!id) return fail(id.error());
      ids.push_back(*id);
    }
    std::optional<Commands::Id> beside;
    if (victim) {
      const Nanos span = session_.latency_time_beside(session_.flow_time());
      const auto id = start_latency(session_, *victim, span, start_at);
      if (!id) return fail(id.error());
      beside = *id;
      ids.push_back(*id);
    }
    session_.wait(ids, session_.flow_time());
    for (size_t i = 0; i < pairs.size(); ++i) {
      load.flows.push_back(flow_figures(session_, pairs[i], ids[i]));
    }
    if (beside) load.victim = latency_figures(session_, *victim, *beside);
    if (session_.interrupted()) return load;
    Result<LinkLosses> losses = take_losses(session_);
    if (!losses) return fail(std::move(losses).error());
    load.losses = std::move(*losses);
    return load;
  }

  Result<void> load(const std::string& name, const std::vector<HostPair>& pairs, double share,
                    std::optional<HostPair> victim) {
    Result<Load> best = measure(pairs, victim);
    for (int again = 0; best && best->sum() < best->allowed * share && session_.may_repeat(again);
         ++again) {
      Result<Load> next = measure(pairs, victim);
      if (!next || next->sum() > best->sum()) best = std::move(next);
    }
    if (!best) return fail(std::move(best).error());
    if (session_.interrupted()) return {};
    judge(name, *best, share);
    add_data(name, *best);
    return {};
  }

  void judge(const std::string& name, const Load& load, double share) {
    for (const FlowFigures& flow : load.flows) {
      if (flow.complaint.empty()) continue;
      report_.rows.push_back({name, session_.pair_name(flow.pair), flow.complaint, "a figure",
                              Grade::kFail, "see what this pair does in the stage pairs"});
    }
    const Grade grade = session_.grade_of_speed(load.sum(), load.allowed * share);
    const auto [least, most] = std::minmax_element(
        load.flows.begin(), load.flows.end(),
        [](const FlowFigures& a, const FlowFigures& b) { return a.bits_per_s < b.bits_per_s; });
    const std::string expected =
        load.allowed == 0 ? ""
                          : fmt::format("at least {} of {}", rate_text(load.allowed * share),
                                        rate_text(load.allowed));
    report_.rows.push_back({name, fmt::format("{} flows", load.flows.size()),
                            fmt::format("{} together, {} to {} each", rate_text(load.sum()),
                                        rate_text(least->bits_per_s), rate_text(most->bits_per_s)),
                            expected, grade, grade == Grade::kOk ? "" : kUneven});
    judge_retransmissions(name, load);
    add_losses(name, load.losses);
    if (load.victim) judge_victim(*load.victim);
  }

  void judge_retransmissions(const std::string& name, const Load& load) {
    LoadSegments segments;
    for (const FlowFigures& flow : load.flows) {
      segments += {flow.segments, flow.retransmitted, flow.marked};
    }
    if (segments.sent == 0) return;
    segments_.emplace_back(name, segments);
    report_.rows.push_back(
        name == kIncast ? shown_retransmission_row(name, load.flows.size(), segments)
                        : retransmission_row(name, load.flows.size(), segments,
                                             session_.expectations().retransmitted_per_million));
  }

  void add_losses(const std::string& name, const LinkLosses& losses) {
    losses_.emplace_back(name, losses);
    if (auto row = losses_row(name, losses)) report_.rows.push_back(std::move(*row));
  }

  void add_marks() {
    const topology::Topology& fabric = session_.topology();
    const auto marks = [](const topology::Link& link) {
      return link.shape.ecn_threshold.count != UINT64_MAX;
    };
    const auto marking = std::count_if(fabric.links.begin(), fabric.links.end(), marks);
    const std::string where = fmt::format("{} links", fabric.links.size());
    if (!segments_.empty()) {
      report_.rows.push_back(received_marks_row(session_.hosts(), segments_));
    }
    if (!session_.fabric().is_emulated()) {
      report_.rows.push_back(switch_ports_row(session_.hosts()));
    } else if (marking == 0) {
      report_.rows.push_back({"ECN marks", where, "none: no link of the topology marks", ""});
    } else {
      std::string measured;
      for (const auto& [name, losses] : losses_) {
        measured +=
            fmt::format("{}{} {}", measured.empty() ? "" : ", ", name, count_text(losses.marked));
      }
      report_.rows.push_back({"ECN marks", where, std::move(measured), ""});
    }
  }

  std::optional<Nanos> most_latency(const HostPair& pair) const {
    if (session_.expectations().victim_latency) return session_.expectations().victim_latency;
    return most_bystander_latency(routes_between(session_.topology(), pair).queues, idle_,
                                  session_.fabric().is_emulated());
  }

  void judge_victim(const LatencyFigures& victim) {
    report_.rows.push_back(
        bystander_row(session_.pair_name(victim.pair), victim, idle_, most_latency(victim.pair)));
    if (!victim.complaint.empty()) return;
    report_.data["victim"] = {
        {"from", session_.host(victim.pair.from)},
        {"to", session_.host(victim.pair.to)},
        {"half_round_trip_us_p50", victim.us_p50},
        {"half_round_trip_us_p99", victim.us_p99},
        {"idle_half_round_trip_us_p50", idle_.complaint.empty() ? idle_.us_p50 : 0},
        {"idle_half_round_trip_us_p99", idle_.complaint.empty() ? idle_.us_p99 : 0}};
  }

  void add_data(const std::string& name, const Load& load) {
    Json flows = Json::array();
    for (const FlowFigures& flow : load.flows) {
      flows.push_back({{"from", session_.host(flow.pair.from)},
                       {"to", session_.host(flow.pair.to)},
                       {"goodput_bits_per_s", flow.bits_per_s},
                       {"segments", flow.segments},
                       {"retransmitted", flow.retransmitted},
                       {"marked", flow.marked}});
    }
    report_.data[name] = {{"goodput_bits_per_s", load.sum()},
                          {"allowed_bits_per_s", load.allowed},
                          {"dropped", load.losses.dropped},
                          {"marked", load.losses.marked},
                          {"flows", flows}};
  }

  Session& session_;
  StageReport& report_;
  LatencyFigures idle_;  // of the pair that is beside the incast
  std::vector<std::pair<std::string, LinkLosses>> losses_;
  std::vector<std::pair<std::string, LoadSegments>> segments_;  // by load
};

}  // namespace

Result<void> run_stress(Session& session, StageReport& report) {
  return Stress(session, report).run();
}

}  // namespace heddle::acceptance
