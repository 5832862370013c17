// Stage pairs: rounds of disjoint pairs. Each round measures latency while the fabric is idle, then
// the goodput of all its pairs at once, then plain sockets; then the goodput over each further NIC.
// Under this load every link is judged by its counters.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "acceptance/params.h"
#include "acceptance/shared_cause.h"
#include "acceptance/stages/flows.h"
#include "acceptance/stages/latency_rows.h"
#include "acceptance/stages/nic_goodput.h"
#include "acceptance/stages/plain_sockets.h"
#include "acceptance/stages/rdma_pairs.h"
#include "acceptance/stages/stages.h"
#include "base/quantity.h"

namespace heddle::acceptance {
namespace {

struct Measured {
  HostPair pair;
  FlowFigures flow;
  SocketResult sockets;
  std::optional<PairRdma> rdma;  // where both hosts have it
  LatencyFigures latency;
  double allowed =
      0;  // payload that the links can carry, with the round's other pairs; 0: no limit

  double share() const { return allowed == 0 ? 1 : flow.bits_per_s / allowed; }
};

Json json_of(const std::vector<PathFigures>& paths) {
  Json document = Json::array();
  for (const PathFigures& each : paths) {
    document.push_back({{"path", each.path},
                        {"goodput_bits_per_s", each.bits_per_s},
                        {"rtt_us", each.rtt_us},
                        {"lost_segments", each.lost_segments}});
  }
  return document;
}

class Pairs {
 public:
  Pairs(Session& session, StageReport& report) : session_(session), report_(report) {}

  Result<void> run() {
    const auto silent = session_.start_servers();
    if (!silent) return fail(silent.error());
    if (Result<void> restarted = session_.links().restart(); !restarted) return restarted;
    for (const std::vector<HostPair>& round : session_.rounds(true)) {
      if (session_.interrupted()) break;
      if (Result<void> ran = measure(round); !ran) return ran;
      rounds_.push_back(round);
    }
    const auto over_nics = measure_nics(session_, report_);
    if (!over_nics) return fail(over_nics.error());
    rounds_.insert(rounds_.end(), over_nics->begin(), over_nics->end());
    add_data();
    judge_goodput();
    judge_latency();
    add_socket_rows();
    add_rdma_rows();
    return session_.interrupted() ? Result<void>() : judge_all_links();
  }

 private:
  Result<void> measure(const std::vector<HostPair>& round) {
    const auto latencies = run_latencies(session_, round, session_.latency_time());
    if (!latencies) return fail(latencies.error());
    const std::vector<double> allowed = session_.payload_rates(round);
    const auto flows = run_flows_again(session_, round, allowed);
    if (!flows) return fail(flows.error());
    const auto sockets = run_sockets(session_, round);
    if (!sockets) return fail(sockets.error());
    const auto rdma = run_rdma(session_, round);
    if (!rdma) return fail(rdma.error());
    if (session_.interrupted()) return {};  // its commands were ended
    for (size_t i = 0; i < round.size(); ++i) {
      measured_.push_back({round[i], (*flows)[i], (*sockets)[i], {}, (*latencies)[i], allowed[i]});
      for (PairRdma each : *rdma) {
        if (!(each.pair == round[i])) continue;
        each.heddle_bits_per_s = (*flows)[i].bits_per_s;
        each.heddle_us = (*latencies)[i].us_p50;
        measured_.back().rdma = std::move(each);
      }
    }
    return {};
  }

  std::vector<HostPair> all_pairs() const {
    std::vector<HostPair> pairs;
    for (const Measured& each : measured_) pairs.push_back(each.pair);
    return pairs;
  }

  // Of a pair without a figure too: that is no speed.
  Grade grade_of_pair(const Measured& each) const {
    if (!each.flow.complaint.empty()) return Grade::kFail;
    return session_.grade_of_speed(each.share(), session_.expectations().pair_share);
  }

  // In what it reached by heddle, or by RDMA.
  bool has_failed(const Measured& each, bool rdma_has_figures) const {
    return grade_of_pair(each) == Grade::kFail ||
           (each.rdma && rdma_failed(rdma_judge(), *each.rdma, rdma_has_figures));
  }

  void judge_goodput() {
    std::vector<HostPair> slow;
    Grade worst = Grade::kOk;
    double lowest = 1e9;
    double highest = 0;
    for (const Measured& each : measured_) {
      const Grade grade = grade_of_pair(each);
      if (grade != Grade::kOk) {
        worst = std::max(worst, grade);
        slow.push_back(each.pair);
        continue;
      }
      lowest = std::min(lowest, each.share());
      highest = std::max(highest, each.share());
    }
    const std::optional<uint32_t> host = host_behind(slow, all_pairs());
    if (host) {
      report_.rows.push_back(
          {"goodput", session_.host(*host), "slow to and from every host", "as other hosts", worst,
           fmt::format("check {}'s port speed, cable and processors", session_.host(*host))});
    }
    add_slow_pairs();
    const size_t fine = measured_.size() - slow.size();
    if (fine == 0) return;
    report_.rows.push_back(
        {"goodput", fmt::format("{} of {} pairs", fine, measured_.size()),
         fmt::format("{:.0f}% to {:.0f}% of what the links carry", lowest * 100, highest * 100),
         fmt::format("at least {:.0f}%", session_.expectations().pair_share * 100)});
  }

  // The slowest first; the others in one row.
  void add_slow_pairs() {
    std::vector<const Measured*> slow;
    for (const Measured& each : measured_) {
      if (grade_of_pair(each) != Grade::kOk) slow.push_back(&each);
    }
    std::sort(slow.begin(), slow.end(),
              [](const Measured* a, const Measured* b) { return a->share() < b->share(); });
    const std::string todo = todo_of_slow_pair(session_);
    const size_t shown = std::min(slow.size(), params::kMostPairRows);
    for (size_t i = 0; i < shown; ++i) {
      const Measured& each = *slow[i];
      const std::string measured =
          each.flow.complaint.empty()
              ? fmt::format("{}, {:.0f}% of what the links carry", rate_text(each.flow.bits_per_s),
                            each.share() * 100)
              : each.flow.complaint;
      report_.rows.push_back({"goodput", session_.pair_name(each.pair), measured,
                              least_text(each.allowed), grade_of_pair(each), todo});
    }
    if (shown == slow.size()) return;
    report_.rows.push_back(
        {"goodput",
         fmt::format("{} more {}", slow.size() - shown,
                     slow.size() - shown == 1 ? "pair" : "pairs"),
         fmt::format("{:.0f}% to {:.0f}% of what the links carry", slow[shown]->share() * 100,
                     slow.back()->share() * 100),
         fmt::format("at least {:.0f}%", session_.expectations().pair_share * 100),
         grade_of_pair(*slow[shown]), todo});
  }

  std::string least_text(double allowed) const {
    return fmt::format("at least {}", rate_text(allowed * session_.expectations().pair_share));
  }

  void judge_latency() {
    std::vector<LatencyFigures> latencies;
    for (const Measured& each : measured_) latencies.push_back(each.latency);
    const auto name_of = [this](const HostPair& pair) { return session_.pair_name(pair); };
    for (Row& row : latency_rows(session_.topology(), latencies, name_of)) {
      report_.rows.push_back(std::move(row));
    }
  }

  void add_socket_rows() {
    std::vector<PairSockets> pairs;
    for (const Measured& each : measured_) {
      pairs.push_back({each.pair, each.sockets, each.flow.bits_per_s, each.latency.us_p50});
    }
    const auto name_of = [&](const HostPair& pair) { return session_.pair_name(pair); };
    for (Row& row : socket_rows(name_of, pairs)) report_.rows.push_back(std::move(row));
  }

  std::vector<PairRdma> all_rdma() const {
    std::vector<PairRdma> pairs;
    for (const Measured& each : measured_) {
      if (each.rdma) pairs.push_back(*each.rdma);
    }
    return pairs;
  }

  void add_rdma_rows() {
    for (Row& row : rdma_rows(rdma_judge(), all_rdma())) report_.rows.push_back(std::move(row));
  }

  RdmaJudge rdma_judge() const {
    return {[this](const HostPair& pair) { return session_.pair_name(pair); },
            [this](uint32_t host) { return session_.host(host); },
            [this](double reached, double expected) {
              return session_.grade_of_speed(reached, expected);
            },
            session_.expectations().pair_share};
  }

  // A link below its rate is loaded again: a busy machine can keep traffic from it, a real limit
  // stays.
  Result<void> judge_all_links() {
    Result<std::vector<CarriedLoad>> loads = session_.take_loads();
    if (!loads) return fail(std::move(loads).error());
    const auto label_of = [this](uint32_t link) { return session_.fabric().link_label(link); };
    const auto judge = [&] {
      return judge_links(session_.topology(), *loads, session_.expectations(), rounds_, label_of);
    };
    LinkVerdicts verdicts = judge();
    for (int again = 0; again < params::kLinkRepeats && names_rate(verdicts); ++again) {
      const auto flows = run_flows(session_, round_over(verdicts.named), session_.flow_time());
      if (!flows) return fail(flows.error());
      if (session_.interrupted()) return {};
      const Result<std::vector<CarriedLoad>> more = session_.take_loads();
      if (!more) return fail(more.error());
      for (size_t i = 0; i < loads->size(); ++i) {
        (*loads)[i].forward += more->at(i).forward;
        (*loads)[i].backward += more->at(i).backward;
        (*loads)[i].forward_packets += more->at(i).forward_packets;
        (*loads)[i].backward_packets += more->at(i).backward_packets;
      }
      verdicts = judge();
    }
    if (session_.interrupted()) return {};  // counters may not have been read to the end
    for (Row& row : verdicts.rows) report_.rows.push_back(std::move(row));
    report_.data["links"] = {{"judged_directions", verdicts.judged_directions},
                             {"least_share", verdicts.least_share},
                             {"errors_per_million", verdicts.errors_per_million}};
    return {};
  }

  static bool names_rate(const LinkVerdicts& verdicts) {
    return std::any_of(verdicts.rows.begin(), verdicts.rows.end(), [](const Row& row) {
      return row.grade == Grade::kFail && row.check == "link rate";
    });
  }

  // All pairs of hosts that use one of the links, in both directions.
  std::vector<HostPair> round_over(const std::vector<uint32_t>& links) const {
    Routes routes(session_.topology());
    std::vector<HostPair> flows;
    const auto takes_one = [&](const HostPair& pair) {
      const auto taken = routes.links(pair);
      return std::any_of(taken.begin(), taken.end(), [&](const auto& used) {
        return std::find(links.begin(), links.end(), used.first.link) != links.end();
      });
    };
    for (const std::vector<HostPair>& round : rounds_) {
      for (const HostPair& pair : round) {
        if (flows.size() >= params::kMostLoadingPairs) return flows;
        if (takes_one(pair)) flows.push_back(pair);
      }
    }
    return flows;
  }

  void add_data() {
    Json pairs = Json::array();
    const bool rdma_has_figures = hardware_has_figures(all_rdma());
    size_t paths = 0;  // of all pairs so far
    for (const Measured& each : measured_) {
      paths += each.flow.paths.size();
      pairs.push_back({{"from", session_.host(each.pair.from)},
                       {"to", session_.host(each.pair.to)},
                       {"goodput_bits_per_s", each.flow.bits_per_s},
                       {"allowed_bits_per_s", each.allowed},
                       {"failed", has_failed(each, rdma_has_figures)},
                       {"tcp_bits_per_s", each.sockets.tcp_bits_per_s},
                       {"tcp_lat_us", each.sockets.tcp_us},
                       {"udp_bw_sent_bits_per_s", each.sockets.udp_sent_bits_per_s},
                       {"udp_bw_received_bits_per_s", each.sockets.udp_received_bits_per_s},
                       {"udp_lat_us", each.sockets.udp_us},
                       {"segments", each.flow.segments},
                       {"retransmitted", each.flow.retransmitted},
                       {"half_round_trip_us_min", each.latency.us_min},
                       {"half_round_trip_us_p50", each.latency.us_p50},
                       {"half_round_trip_us_p99", each.latency.us_p99}});
      if (each.rdma) {
        pairs.back()["rc_bw_bits_per_s"] = each.rdma->bits_per_s;
        pairs.back()["rc_lat_us"] = each.rdma->us;
        if (each.rdma->is_judged()) {
          pairs.back()["rc_allowed_bits_per_s"] = each.rdma->allowed_bits_per_s;
        }
      }
      if (paths <= params::kMostPaths) pairs.back()["paths"] = json_of(each.flow.paths);
    }
    report_.data["pairs"] = std::move(pairs);
  }

  Session& session_;
  StageReport& report_;
  std::vector<Measured> measured_;
  std::vector<std::vector<HostPair>> rounds_;  // whose loads judge the links
};

}  // namespace

Result<void> run_pairs(Session& session, StageReport& report) {
  return Pairs(session, report).run();
}

}  // namespace heddle::acceptance
