// See rdma_pairs.h.
#include "acceptance/stages/rdma_pairs.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "acceptance/agent_numbers.h"
#include "acceptance/params.h"
#include "acceptance/rdma_tests.h"
#include "acceptance/shared_cause.h"
#include "acceptance/stages/flows.h"
#include "base/quantity.h"

namespace heddle::acceptance {
namespace {

std::string milliseconds(Nanos time) { return fmt::format("{}ms", time / millis(1)); }

Result<void> measure(Session& session, std::vector<PairRdma>& pairs) {
  const RdmaPlan plan{session.plain_latency_time(), session.stream_time()};
  const Nanos start_at = session.common_start();
  const std::string port = std::to_string(params::kSocketPort);
  std::vector<Commands::Id> ids;  // server, client, server, …
  for (const PairRdma& each : pairs) {
    const std::string address = session.fabric().address(each.pair.to);
    const std::string client_address = session.fabric().address(each.pair.from);
    const auto server = session.commands().start(
        session.host(each.pair.to),
        {"heddle", "agent", "rdma-serve", address, port, client_address,
         milliseconds(2 * plan.span() + session.fabric().login_time() * 4 + seconds(5))});
    if (!server) return fail(server.error());
    const auto client =
        session.commands().start(session.host(each.pair.from),
                                 {"heddle", "agent", "rdma-test", address, port, client_address,
                                  milliseconds(plan.latency), milliseconds(plan.stream)},
                                 {start_at, {}});
    if (!client) return fail(client.error());
    ids.insert(ids.end(), {*server, *client});
  }
  session.wait(ids, plan.span());
  for (size_t i = 0; i < pairs.size(); ++i) {
    take_rdma_figures(session.commands().result_of(ids[2 * i + 1]),
                      session.commands().result_of(ids[2 * i]), pairs[i]);
  }
  return {};
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Of hardware, without figures, beside others of hardware that have them.
bool lacks_what_others_have(const PairRdma& pair, bool others_have) {
  return others_have && !pair.software && !pair.complaint.empty();
}

class RdmaRows {
 public:
  RdmaRows(const RdmaJudge& judge, const std::vector<PairRdma>& pairs)
      : judge_(judge), pairs_(pairs), have_figures_(hardware_has_figures(pairs)) {}

  std::vector<Row> make() {
    add_complaints();
    add_payload();
    find_slow();
    add_slow();
    add_fine();
    add_unjudged();
    add_latency();
    return std::move(rows_);
  }

 private:
  double expected_of(const PairRdma& pair) const { return pair.allowed_bits_per_s * judge_.share; }

  // Those that fail have a row each, up to a number; of the others the first one has.
  void add_complaints() {
    std::vector<HostPair> failed;
    std::vector<HostPair> hardware;
    std::vector<const PairRdma*> without;
    for (const PairRdma& each : pairs_) {
      if (!each.software) hardware.push_back(each.pair);
      if (lacks_what_others_have(each, have_figures_)) failed.push_back(each.pair);
      if (!each.complaint.empty()) without.push_back(&each);
    }
    if (without.empty()) return;
    if (const auto host = host_behind(failed, hardware)) {
      const std::string& name = judge_.host_name(*host);
      rows_.push_back({"rc_bw", name, "no figure to and from any host", "as other hosts",
                       Grade::kFail, fmt::format("see `heddle doctor rdma` on {}", name)});
    }
    const auto fails = [&](const PairRdma* each) {
      return lacks_what_others_have(*each, have_figures_);
    };
    std::stable_partition(without.begin(), without.end(), fails);
    const size_t shown = std::clamp<size_t>(failed.size(), 1, params::kMostPairRows);
    for (size_t i = 0; i < std::min(shown, without.size()); ++i) {
      const PairRdma& each = *without[i];
      rows_.push_back({"rc_bw", judge_.name_of(each.pair), each.complaint, "a figure",
                       fails(&each) ? Grade::kFail : Grade::kWarn,
                       fmt::format("see `heddle doctor rdma` on both hosts; {} of {} pairs have no "
                                   "figures of RC",
                                   without.size(), pairs_.size())});
    }
  }

  void add_payload() {
    size_t compared = 0;
    size_t right = 0;
    for (const PairRdma& each : pairs_) {
      if (!each.complaint.empty()) continue;
      ++compared;
      if (each.changed_bytes == 0) {
        ++right;
        continue;
      }
      rows_.push_back(
          {"RC payload", judge_.name_of(each.pair),
           fmt::format("{} bytes arrived changed", each.changed_bytes), "unchanged", Grade::kFail,
           "a NIC, its driver or the host's memory changes them: exchange the NIC, then "
           "test the memory"});
    }
    if (right == 0) return;
    rows_.push_back(
        {"RC payload", fmt::format("{} of {} pairs", right, compared), "unchanged", "all"});
  }

  void find_slow() {
    for (const PairRdma& each : pairs_) {
      if (!each.complaint.empty()) continue;
      if (each.software) {
        software_.push_back(&each);
      } else if (!each.one_route) {
        several_routes_.push_back(&each);
      } else {
        (rdma_grade(judge_, each) == Grade::kOk ? fine_ : slow_).push_back(&each);
      }
    }
    const auto lower = [](const PairRdma* a, const PairRdma* b) {
      return a->bits_per_s < b->bits_per_s;
    };
    for (auto* const each : {&slow_, &fine_, &software_, &several_routes_}) {
      std::sort(each->begin(), each->end(), lower);
    }
  }

  void add_slow() {
    std::vector<HostPair> slow;
    std::vector<HostPair> all;
    for (const PairRdma* each : slow_) slow.push_back(each->pair);
    for (const PairRdma& each : pairs_) {
      if (each.is_judged()) all.push_back(each.pair);
    }
    if (const auto host = host_behind(slow, all)) {
      const PairRdma& first = *slow_.front();
      const std::string& name = judge_.host_name(*host);
      rows_.push_back(
          {"rc_bw", name, "slow to and from every host", "as other hosts",
           rdma_grade(judge_, first),
           fmt::format("check the RDMA port of {}: its rate, PCIe width, PFC and ECN", name)});
    }
    const std::string todo =
        "see whether RDMA errors of the inventory grew; PFC and ECN must be set alike on all ports "
        "of the route";
    const size_t shown = std::min(slow_.size(), params::kMostPairRows);
    for (size_t i = 0; i < shown; ++i) {
      const PairRdma& each = *slow_[i];
      rows_.push_back({"rc_bw", judge_.name_of(each.pair),
                       fmt::format("{}, {:.0f}% of what the links carry",
                                   rate_text(each.bits_per_s), share_of(each) * 100),
                       fmt::format("at least {}", rate_text(expected_of(each))),
                       rdma_grade(judge_, each), todo});
    }
    if (shown == slow_.size()) return;
    double lowest = 1;
    double highest = 0;
    Grade worst = Grade::kWarn;
    for (size_t i = shown; i < slow_.size(); ++i) {
      lowest = std::min(lowest, share_of(*slow_[i]));
      highest = std::max(highest, share_of(*slow_[i]));
      worst = std::max(worst, rdma_grade(judge_, *slow_[i]));
    }
    rows_.push_back(
        {"rc_bw",
         fmt::format("{} more {}", slow_.size() - shown,
                     slow_.size() - shown == 1 ? "pair" : "pairs"),
         fmt::format("{:.0f}% to {:.0f}% of what the links carry", lowest * 100, highest * 100),
         fmt::format("at least {:.0f}%", judge_.share * 100), worst, todo});
  }

  static double share_of(const PairRdma& pair) { return pair.bits_per_s / pair.allowed_bits_per_s; }

  void add_fine() {
    if (fine_.empty()) return;
    double expected = 0;  // the least
    for (const PairRdma* each : fine_) {
      const double least = expected_of(*each);
      if (least > 0) expected = expected == 0 ? least : std::min(expected, least);
    }
    rows_.push_back({"rc_bw", fmt::format("{} of {} pairs", fine_.size(), pairs_.size()),
                     bandwidth_text(fine_),
                     expected == 0 ? "" : fmt::format("at least {}", rate_text(expected))});
  }

  void add_unjudged() {
    if (!software_.empty()) {
      Row row{"rc_bw", fmt::format("{} pairs in software", software_.size()),
              bandwidth_text(software_), ""};
      row.todo =
          "nothing: this RDMA is in software, whose rate is the processors', and is not judged";
      rows_.push_back(std::move(row));
    }
    if (!several_routes_.empty()) {
      Row row{"rc_bw", fmt::format("{} pairs with several routes", several_routes_.size()),
              bandwidth_text(several_routes_), ""};
      row.todo =
          "nothing where heddle reaches its rate: an RC queue pair keeps to one route, which "
          "others may share, and is not judged";
      rows_.push_back(std::move(row));
    }
  }

  // The lowest first.
  std::string bandwidth_text(const std::vector<const PairRdma*>& pairs) const {
    std::vector<double> gains;
    for (const PairRdma* each : pairs) {
      if (each->bits_per_s > 0) gains.push_back(each->heddle_bits_per_s / each->bits_per_s);
    }
    return fmt::format("{} (median), least {} ({}); heddle {:.2f}x",
                       rate_text(pairs[pairs.size() / 2]->bits_per_s),
                       rate_text(pairs.front()->bits_per_s), judge_.name_of(pairs.front()->pair),
                       median(gains));
  }

  void add_latency() {
    std::vector<double> values;
    std::vector<double> gains;
    const PairRdma* most = nullptr;
    for (const PairRdma& each : pairs_) {
      if (each.us <= 0) continue;
      values.push_back(each.us);
      if (each.heddle_us > 0) gains.push_back(each.heddle_us / each.us);
      if (most == nullptr || each.us > most->us) most = &each;
    }
    if (most == nullptr) return;
    std::string measured = fmt::format("{} (median), most {} ({})", us_text(median(values)),
                                       us_text(most->us), judge_.name_of(most->pair));
    if (!gains.empty()) measured += fmt::format("; heddle {:.2f}x", median(gains));
    rows_.push_back({"rc_lat", fmt::format("{} of {} pairs", values.size(), pairs_.size()),
                     std::move(measured), ""});
  }

  const RdmaJudge& judge_;
  const std::vector<PairRdma>& pairs_;
  const bool have_figures_;            // some of hardware
  std::vector<const PairRdma*> slow_;  // the lowest first
  std::vector<const PairRdma*> fine_;
  std::vector<const PairRdma*> software_;
  std::vector<const PairRdma*> several_routes_;
  std::vector<Row> rows_;
};

}  // namespace

Result<std::vector<PairRdma>> run_rdma(Session& session, const std::vector<HostPair>& pairs) {
  std::vector<PairRdma> made;
  for (const HostPair& pair : pairs) {
    const auto from = session.fabric().rdma(pair.from);
    const auto to = session.fabric().rdma(pair.to);
    if (!from || !to) continue;
    made.push_back({.pair = pair, .software = from->software || to->software});
  }
  if (made.empty()) return made;
  set_rdma_bounds(
      session.topology(), [&](uint32_t host) { return version_of(session.fabric().address(host)); },
      made);
  const auto below = [&](const PairRdma& each) {
    return each.is_judged() &&
           each.bits_per_s < each.allowed_bits_per_s * session.expectations().pair_share;
  };
  for (int done = 0;
       done == 0 || (std::any_of(made.begin(), made.end(), below) && session.may_repeat(done - 1));
       ++done) {
    if (Result<void> measured = measure(session, made); !measured) return fail(measured.error());
  }
  return made;
}

void set_rdma_bounds(const topology::Topology& topology,
                     const std::function<IpVersion(uint32_t host)>& version_of_host,
                     std::vector<PairRdma>& pairs) {
  std::vector<HostPair> flows;
  for (const PairRdma& each : pairs) flows.push_back(each.pair);
  const std::vector<double> rates = one_route_rates(topology, flows);
  for (size_t i = 0; i < pairs.size(); ++i) {
    const RouteFacts facts = routes_between(topology, flows[i]);
    pairs[i].one_route = facts.routes <= 1;
    pairs[i].allowed_bits_per_s =
        rates[i] * roce_payload_share(facts.mtu_bytes, version_of_host(flows[i].to));
  }
}

void take_rdma_figures(const CommandEnd& client, const CommandEnd& server, PairRdma& pair) {
  const std::optional<Json> found = document_of(client);
  if (client.exit_status != 0 || !found) {
    if (pair.bits_per_s > 0) return;  // an earlier one has figures
    pair.complaint = complaint_of(server.exit_status > 0 && !server.late ? server : client);
    return;
  }
  const double bits_per_s = number_of(*found, "rc_bits_per_s");
  pair.complaint.clear();
  pair.changed_bytes += count_of(number_of(*found, "rc_changed_bytes"));
  if (bits_per_s < pair.bits_per_s) return;
  pair.bits_per_s = bits_per_s;
  pair.us = number_of(*found, "rc_us");
}

Grade rdma_grade(const RdmaJudge& judge, const PairRdma& pair) {
  if (!pair.is_judged() || !pair.complaint.empty()) return Grade::kOk;
  return judge.grade(pair.bits_per_s, pair.allowed_bits_per_s * judge.share);
}

bool hardware_has_figures(const std::vector<PairRdma>& pairs) {
  return std::any_of(pairs.begin(), pairs.end(),
                     [](const PairRdma& each) { return !each.software && each.complaint.empty(); });
}

bool rdma_failed(const RdmaJudge& judge, const PairRdma& pair, bool others_have_figures) {
  return rdma_grade(judge, pair) == Grade::kFail || pair.changed_bytes > 0 ||
         lacks_what_others_have(pair, others_have_figures);
}

std::vector<Row> rdma_rows(const RdmaJudge& judge, const std::vector<PairRdma>& pairs) {
  return RdmaRows(judge, pairs).make();
}

}  // namespace heddle::acceptance
