// Stage stress: a permutation (each host sends to another), an incast (all send to one) and an
// all-to-all; what links drop and mark meanwhile; and the latency of two hosts beside the incast,
// against theirs on the idle fabric, as GPCNeT asks.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <string>

#include "acceptance/params.h"
#include "acceptance/stages/flows.h"
#include "acceptance/stages/recorded_all_reduce.h"
#include "acceptance/stages/stages.h"
#include "base/quantity.h"

namespace heddle::acceptance {
namespace {

// What links did to packets while something ran.
struct LinkLosses {
  uint64_t packets = 0;  // that a link carried, of all links
  uint64_t dropped = 0;
  uint64_t marked = 0;
  std::string most;  // the direction that dropped most
};

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

constexpr const char* kUneven =
    "single pairs passed: look for uneven hashing (heddle paths), shared buffers that are too "
    "small, and ECN or PFC that only some ports have";

class Stress {
 public:
  Stress(Session& session, StageReport& report) : session_(session), report_(report) {}

  Result<void> run() {
    const auto silent = session_.start_servers();
    if (!silent) return fail(silent.error());
    const uint32_t hosts = session_.hosts();
    std::vector<HostPair> permutation;
    for (uint32_t i = 0; i < hosts; ++i) {
      const uint32_t to = (i + std::max(1U, hosts / 2)) % hosts;
      if (to != i) permutation.push_back({i, to});
    }
    const double pair_share = session_.expectations().pair_share;
    if (Result<void> ran = load("permutation", permutation, pair_share, {}); !ran) return ran;
    if (hosts < 3 || session_.interrupted()) return {};
    std::vector<HostPair> incast;
    for (uint32_t i = 1; i < hosts; ++i) incast.push_back({i, 0});
    // Two senders: their ports towards each other carry nothing of it.
    const HostPair victim{hosts - 1, 1};
    const auto idle = run_latencies(session_, {victim}, session_.flow_time() / 5);
    if (!idle) return fail(idle.error());
    idle_ = idle->front();
    const double incast_share = session_.expectations().incast_share;
    if (Result<void> ran = load("incast", incast, incast_share, victim); !ran) return ran;
    if (session_.interrupted()) return {};
    if (Result<void> ran = all_to_all(); !ran) return ran;
    if (!session_.interrupted()) add_marks();
    return {};
  }

 private:
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
      const auto id = start_latency(session_, *victim, session_.flow_time() / 2, start_at);
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
    Result<LinkLosses> losses = take_losses();
    if (!losses) return fail(std::move(losses).error());
    load.losses = std::move(*losses);
    return load;
  }

  Result<LinkLosses> take_losses() {
    const Result<std::vector<CarriedLoad>> loads = session_.take_loads();
    if (!loads) return fail(loads.error());
    LinkLosses losses;
    uint64_t most = 0;
    for (uint32_t i = 0; i < loads->size(); ++i) {
      const CarriedLoad& link = (*loads)[i];
      losses.packets += link.forward_packets + link.backward_packets;
      for (const bool forward : {true, false}) {
        const LinkLoad& load = forward ? link.forward : link.backward;
        losses.dropped += load.dropped;
        losses.marked += load.marked;
        if (load.dropped <= most) continue;
        most = load.dropped;
        losses.most = end_names(i, forward);
      }
    }
    return losses;
  }

  std::string end_names(uint32_t link, bool forward) const {
    const topology::Link& found = session_.topology().links[link];
    const auto name = [&](const topology::Node& node) {
      return topology::node_name(session_.topology(), node);
    };
    return fmt::format("{} to {}", name(forward ? found.a : found.b),
                       name(forward ? found.b : found.a));
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
    uint64_t segments = 0;
    uint64_t again = 0;
    for (const FlowFigures& flow : load.flows) {
      segments += flow.segments;
      again += flow.retransmitted;
    }
    if (segments == 0) return;
    const double per_million = static_cast<double>(again) * 1e6 / static_cast<double>(segments);
    const uint32_t most = session_.expectations().retransmitted_per_million;
    const bool fine = per_million <= most;
    report_.rows.push_back(
        {name + ", retransmitted", fmt::format("{} flows", load.flows.size()),
         fmt::format("{:.2g}% of {} segments", per_million / 1e4, count_text(segments)),
         fmt::format("at most {:g}%", most / 1e4), fine ? Grade::kOk : Grade::kWarn,
         fine ? ""
              : "queues overflow: turn on ECN with HEDDLE_CONGESTION=dctcp, or deepen the "
                "queues of the ports that drop"});
  }

  // They inform: a sender that finds a link's rate fills its queue, and what is lost is above.
  void add_losses(const std::string& name, const LinkLosses& losses) {
    losses_.emplace_back(name, losses);
    if (losses.packets == 0) return;  // no counters
    std::string measured =
        fmt::format("{} of {} packets", count_text(losses.dropped), count_text(losses.packets));
    if (losses.dropped > 0) measured += fmt::format(", most at {}", losses.most);
    report_.rows.push_back({name + ", dropped by queues",
                            fmt::format("{} links", session_.topology().links.size()),
                            std::move(measured), ""});
  }

  void add_marks() {
    const topology::Topology& fabric = session_.topology();
    const auto marks = [](const topology::Link& link) {
      return link.shape.ecn_threshold.count != UINT64_MAX;
    };
    const auto marking = std::count_if(fabric.links.begin(), fabric.links.end(), marks);
    const std::string where = fmt::format("{} links", fabric.links.size());
    if (!session_.fabric().is_emulated()) {
      report_.rows.push_back({"ECN marks", where, "not counted: switches set them", ""});
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

  // The payload of one of all ordered pairs, if all send at once and evenly.
  double even_rate() const {
    const topology::Topology& fabric = session_.topology();
    std::map<LinkUse, double> shares;
    uint32_t mtu_bytes = UINT32_MAX;
    for (uint32_t from = 0; from < session_.hosts(); ++from) {
      for (uint32_t to = 0; to < session_.hosts(); ++to) {
        if (from == to) continue;
        for (const auto& [use, share] : links_between(fabric, {from, to})) {
          shares[use] += share;
          mtu_bytes = std::min(mtu_bytes, fabric.links[use.link].shape.mtu_bytes);
        }
      }
    }
    double least = 0;
    for (const auto& [use, share] : shares) {
      const auto rate = static_cast<double>(fabric.links[use.link].shape.rate.count);
      if (rate > 0 && (least == 0 || rate / share < least)) least = rate / share;
    }
    return least * payload_share(mtu_bytes, version_of(session_.fabric().address(0)));
  }

  Result<void> all_to_all() {
    const double bound = even_rate() * (session_.hosts() - 1);
    uint64_t bytes = params::kSmallest.count;
    const double most = bound / 8 * to_seconds(params::kCallTime);
    while (bound > 0 && bytes < params::kMostLargest.count &&
           static_cast<double>(2 * bytes) <= most)
      bytes *= 2;
    if (bound == 0) bytes = params::kLargestUnbounded.count;
    std::vector<std::string> words = {"heddle", "bench", "alltoall"};
    const auto ranks = session_.fabric().options_for_ranks(session_.all_hosts());
    words.insert(words.end(), ranks.begin(), ranks.end());
    const std::string size = std::to_string(bytes);
    words.insert(words.end(), {"-b", size, "-e", size, "-n", "3", "--json"});
    const double least = bound * session_.expectations().collective_share;
    AllToAll best;
    for (int again = 0; again == 0 || (best.bus_bits_per_s() < least && session_.may_repeat(again));
         ++again) {
      Result<AllToAll> next = run_all_to_all(words);
      if (!next) return fail(std::move(next).error());
      if (again == 0 || next->bus_bits_per_s() > best.bus_bits_per_s()) best = std::move(*next);
    }
    if (!session_.interrupted()) judge_all_to_all(best, bound);
    return {};
  }

  struct AllToAll {
    std::vector<BenchSize> sizes;
    std::string complaint;
    LinkLosses losses;

    double bus_bits_per_s() const { return sizes.empty() ? 0 : sizes.back().bus_bits_per_s; }
  };

  Result<AllToAll> run_all_to_all(const std::vector<std::string>& words) {
    if (const auto before = session_.take_loads(); !before) return fail(before.error());
    const auto id = session_.commands().start_here(words, {});
    if (!id) return fail(id.error());
    session_.wait({*id}, params::kBenchTime);
    AllToAll made;
    if (session_.interrupted()) return made;
    const CommandEnd end = session_.commands().result_of(*id);
    try {
      if (const std::optional<Json> document = document_of(end)) made.sizes = sizes_of(*document);
    } catch (const Json::exception& error) {
      made.complaint = error.what();
    }
    if (made.sizes.empty() && made.complaint.empty()) made.complaint = complaint_of(end);
    Result<LinkLosses> losses = take_losses();
    if (!losses) return fail(std::move(losses).error());
    made.losses = std::move(*losses);
    return made;
  }

  void judge_all_to_all(const AllToAll& made, double bound) {
    const std::string where = fmt::format("{} hosts", session_.hosts());
    if (made.sizes.empty()) {
      report_.rows.push_back({"all-to-all", where, made.complaint, "results", Grade::kFail,
                              "repeat the command of this stage and see what it reports"});
      return;
    }
    const BenchSize& size = made.sizes.back();
    const double least = bound * session_.expectations().collective_share;
    Row row{"all-to-all", where,
            fmt::format("{} bus bandwidth of {}, {} a call", rate_text(size.bus_bits_per_s),
                        size_text(size.bytes),
                        duration_text(nanos(static_cast<int64_t>(size.time_us * 1e3)))),
            bound == 0 ? "" : fmt::format("at least {} of {}", rate_text(least), rate_text(bound)),
            session_.grade_of_speed(size.bus_bits_per_s, least)};
    if (row.grade != Grade::kOk) row.todo = kUneven;
    if (size.wrong > 0) {
      row.grade = Grade::kFail;
      row.expected = "right results";
      row.measured = fmt::format("{} values are wrong", size.wrong);
      row.todo = "data was changed on the way or in memory: test the hosts' memory";
    }
    report_.rows.push_back(std::move(row));
    report_.data["all_to_all"] = {{"bytes", size.bytes},
                                  {"time_us", size.time_us},
                                  {"bus_bits_per_s", size.bus_bits_per_s},
                                  {"bound_bits_per_s", bound},
                                  {"dropped", made.losses.dropped},
                                  {"marked", made.losses.marked}};
    add_losses("all-to-all", made.losses);
  }

  void judge_victim(const LatencyFigures& victim) {
    const std::string where = session_.pair_name(victim.pair);
    if (!victim.complaint.empty()) {
      report_.rows.push_back({"latency beside it", where, victim.complaint, "a figure",
                              Grade::kFail, "see what this pair does in the stage pairs"});
      return;
    }
    const Nanos queues = routes_between(session_.topology(), victim.pair).queues;
    const Nanos most = session_.expectations().victim_latency.value_or(queues + params::kHostTime);
    const Nanos p99 = nanos(static_cast<int64_t>(victim.us_p99 * 1e3));
    const bool fine = p99 <= most;
    std::string measured = duration_text(p99) + " at p99";
    const bool compared = idle_.complaint.empty() && idle_.us_p99 > 0;
    if (compared) {
      const Nanos idle = nanos(static_cast<int64_t>(idle_.us_p99 * 1e3));
      measured += fmt::format(", {:.1f} times the {} of the idle fabric",
                              victim.us_p99 / idle_.us_p99, duration_text(idle));
    }
    report_.rows.push_back({"latency beside it", where, std::move(measured),
                            "at most " + duration_text(most), fine ? Grade::kOk : Grade::kWarn,
                            fine ? ""
                                 : "the incast fills queues that others need: separate queues, "
                                   "ECN, or HEDDLE_CONGESTION=credits for the many-to-one job"});
    report_.data["victim"] = {{"from", session_.host(victim.pair.from)},
                              {"to", session_.host(victim.pair.to)},
                              {"half_round_trip_us_p50", victim.us_p50},
                              {"half_round_trip_us_p99", victim.us_p99},
                              {"idle_half_round_trip_us_p99", compared ? idle_.us_p99 : 0}};
  }

  void add_data(const std::string& name, const Load& load) {
    Json flows = Json::array();
    for (const FlowFigures& flow : load.flows) {
      flows.push_back({{"from", session_.host(flow.pair.from)},
                       {"to", session_.host(flow.pair.to)},
                       {"goodput_bits_per_s", flow.bits_per_s},
                       {"segments", flow.segments},
                       {"retransmitted", flow.retransmitted}});
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
};

}  // namespace

Result<void> run_stress(Session& session, StageReport& report) {
  return Stress(session, report).run();
}

}  // namespace heddle::acceptance
