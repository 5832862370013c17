// Stage pairs: rounds of disjoint pairs. Each round measures latency while the fabric is idle, then
// the goodput of all its pairs at once, then plain sockets. Under this load every link is judged by
// its counters.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "acceptance/params.h"
#include "acceptance/shared_cause.h"
#include "acceptance/stages/flows.h"
#include "acceptance/stages/plain_sockets.h"
#include "acceptance/stages/stages.h"
#include "base/quantity.h"

namespace heddle::acceptance {
namespace {

struct Measured {
  HostPair pair;
  FlowFigures flow;
  SocketResult sockets;
  LatencyFigures latency;
  double allowed =
      0;  // payload that the links can carry, with the round's other pairs; 0: no limit

  double share() const { return allowed == 0 ? 1 : flow.bits_per_s / allowed; }
};

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
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
    }
    add_data();
    judge_goodput();
    judge_latency();
    add_socket_rows();
    return session_.interrupted() ? Result<void>() : judge_all_links();
  }

 private:
  Result<void> measure(const std::vector<HostPair>& round) {
    const Nanos short_time = session_.flow_time() / 5;
    const auto latencies = run_latencies(session_, round, short_time);
    if (!latencies) return fail(latencies.error());
    Result<std::vector<FlowFigures>> flows = run_flows(session_, round, session_.flow_time());
    if (!flows) return fail(std::move(flows).error());
    const std::vector<double> allowed = session_.payload_rates(round);
    // A pair without a figure is tried again, however little time there is.
    for (int again = 0; (again == 0 && any_missing(*flows) && !session_.interrupted()) ||
                        (any_below(*flows, allowed) && session_.may_repeat(again));
         ++again) {
      const auto repeated = run_flows(session_, round, session_.flow_time());
      if (!repeated) return fail(repeated.error());
      for (size_t i = 0; i < round.size(); ++i) {
        if ((*repeated)[i].bits_per_s > (*flows)[i].bits_per_s) (*flows)[i] = (*repeated)[i];
      }
    }
    const auto sockets = run_sockets(session_, round);
    if (!sockets) return fail(sockets.error());
    if (session_.interrupted()) return {};  // its commands were ended
    for (size_t i = 0; i < round.size(); ++i) {
      measured_.push_back({round[i], (*flows)[i], (*sockets)[i], (*latencies)[i], allowed[i]});
    }
    return {};
  }

  static bool any_missing(const std::vector<FlowFigures>& flows) {
    return std::any_of(flows.begin(), flows.end(),
                       [](const FlowFigures& flow) { return !flow.complaint.empty(); });
  }

  bool any_below(const std::vector<FlowFigures>& flows, const std::vector<double>& allowed) const {
    for (size_t i = 0; i < flows.size(); ++i) {
      if (flows[i].bits_per_s < allowed[i] * session_.expectations().pair_share) return true;
    }
    return false;
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
    const std::string todo =
        session_.disturbed() ? "other programs use this machine's processors: repeat it when it "
                               "is idle"
                             : "see the links and hosts that this stage names; else repeat it "
                               "with --full";
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

  // Of pairs with as many hops: a longer route takes longer.
  double typical_latency(const Measured& like) const {
    const size_t links = links_between(session_.topology(), like.pair).size();
    std::vector<double> values;
    for (const Measured& each : measured_) {
      if (!each.latency.complaint.empty()) continue;
      if (links_between(session_.topology(), each.pair).size() == links) {
        values.push_back(each.latency.us_min);
      }
    }
    return median(values);
  }

  void judge_latency() {
    size_t fine = 0;
    std::vector<double> medians;
    for (const Measured& each : measured_) {
      if (!each.latency.complaint.empty()) {
        report_.rows.push_back({"latency", session_.pair_name(each.pair), each.latency.complaint,
                                "a figure", Grade::kFail, "see the stage reach for this pair"});
        continue;
      }
      medians.push_back(each.latency.us_p50);
      const double typical = typical_latency(each);
      const double most = typical * params::kLatencyFactor + params::kLatencyExtraUs;
      if (each.latency.us_min <= most) {
        ++fine;
        continue;
      }
      report_.rows.push_back(
          {"latency", session_.pair_name(each.pair),
           fmt::format("{:.0f} us at best", each.latency.us_min),
           fmt::format("at most {:.0f} us; other pairs: {:.0f} us", most, typical), Grade::kWarn,
           "look for a longer route, a full queue, or power saving on one of the "
           "two hosts"});
    }
    if (fine == 0) return;
    report_.rows.push_back({"latency", fmt::format("{} of {} pairs", fine, measured_.size()),
                            duration_text(nanos(static_cast<int64_t>(median(medians) * 1e3))) +
                                ", half a round trip of 64 B, median",
                            "pairs alike"});
  }

  void add_socket_rows() {
    std::vector<PairSockets> pairs;
    for (const Measured& each : measured_) {
      pairs.push_back({each.pair, each.sockets, each.flow.bits_per_s, each.latency.us_p50});
    }
    for (Row& row : socket_rows(session_, pairs)) report_.rows.push_back(std::move(row));
  }

  // A link below its rate is loaded again: a busy machine can keep traffic from it, a real limit
  // stays.
  Result<void> judge_all_links() {
    Result<std::vector<CarriedLoad>> loads = session_.take_loads();
    if (!loads) return fail(std::move(loads).error());
    const auto judge = [&] {
      return judge_links(session_.topology(), *loads, session_.expectations(),
                         session_.rounds(true));
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
    for (Row& row : verdicts.rows) report_.rows.push_back(std::move(row));
    return {};
  }

  static bool names_rate(const LinkVerdicts& verdicts) {
    return std::any_of(verdicts.rows.begin(), verdicts.rows.end(), [](const Row& row) {
      return row.grade == Grade::kFail && row.check == "link rate";
    });
  }

  // All pairs of hosts that use one of the links, in both directions.
  std::vector<HostPair> round_over(const std::vector<uint32_t>& links) const {
    std::vector<HostPair> flows;
    for (const Measured& each : measured_) {
      for (const auto& [use, share] : links_between(session_.topology(), each.pair)) {
        if (std::find(links.begin(), links.end(), use.link) == links.end()) continue;
        flows.push_back(each.pair);
        break;
      }
      if (flows.size() >= params::kMostLoadingPairs) break;
    }
    return flows;
  }

  void add_data() {
    Json pairs = Json::array();
    for (const Measured& each : measured_) {
      pairs.push_back({{"from", session_.host(each.pair.from)},
                       {"to", session_.host(each.pair.to)},
                       {"goodput_bits_per_s", each.flow.bits_per_s},
                       {"allowed_bits_per_s", each.allowed},
                       {"failed", grade_of_pair(each) == Grade::kFail},
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
    }
    report_.data["pairs"] = std::move(pairs);
  }

  Session& session_;
  StageReport& report_;
  std::vector<Measured> measured_;
};

}  // namespace

Result<void> run_pairs(Session& session, StageReport& report) {
  return Pairs(session, report).run();
}

}  // namespace heddle::acceptance
