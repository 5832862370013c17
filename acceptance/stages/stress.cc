// Stage stress: a permutation (each host sends to another) and an incast (all send to one), and the
// latency of two hosts beside the incast.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <string>

#include "acceptance/params.h"
#include "acceptance/stages/flows.h"
#include "acceptance/stages/stages.h"
#include "base/quantity.h"

namespace heddle::acceptance {
namespace {

struct Load {
  std::vector<FlowFigures> flows;
  double allowed = 0;  // of all flows together
  std::optional<LatencyFigures> victim;

  double sum() const {
    return std::accumulate(
        flows.begin(), flows.end(), 0.0,
        [](double sum, const FlowFigures& flow) { return sum + flow.bits_per_s; });
  }
};

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
    return load("incast", incast, session_.expectations().incast_share, victim);
  }

 private:
  Result<Load> measure(const std::vector<HostPair>& pairs, std::optional<HostPair> victim) {
    Load load;
    const std::vector<double> rates = session_.payload_rates(pairs);
    load.allowed = std::accumulate(rates.begin(), rates.end(), 0.0);
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
    report_.rows.push_back(
        {name, fmt::format("{} flows", load.flows.size()),
         fmt::format("{} together, {} to {} each", rate_text(load.sum()),
                     rate_text(least->bits_per_s), rate_text(most->bits_per_s)),
         expected, grade,
         grade == Grade::kOk
             ? ""
             : "single pairs passed: look for uneven hashing (heddle paths), shared "
               "buffers that are too small, and ECN or PFC that only some ports have"});
    judge_retransmissions(name, load);
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
    report_.rows.push_back({"latency beside it", where, duration_text(p99) + " at p99",
                            "at most " + duration_text(most), fine ? Grade::kOk : Grade::kWarn,
                            fine ? ""
                                 : "the incast fills queues that others need: separate queues, "
                                   "ECN, or HEDDLE_CONGESTION=credits for the many-to-one job"});
    report_.data["victim"] = {{"from", session_.host(victim.pair.from)},
                              {"to", session_.host(victim.pair.to)},
                              {"half_round_trip_us_p50", victim.us_p50},
                              {"half_round_trip_us_p99", victim.us_p99}};
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
    report_.data[name] = {
        {"goodput_bits_per_s", load.sum()}, {"allowed_bits_per_s", load.allowed}, {"flows", flows}};
  }

  Session& session_;
  StageReport& report_;
};

}  // namespace

Result<void> run_stress(Session& session, StageReport& report) {
  return Stress(session, report).run();
}

}  // namespace heddle::acceptance
