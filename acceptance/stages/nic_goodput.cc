// See nic_goodput.h.
#include "acceptance/stages/nic_goodput.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "acceptance/params.h"
#include "acceptance/shared_cause.h"
#include "acceptance/stages/flows.h"
#include "acceptance/stages/nic_pairs.h"
#include "base/quantity.h"

namespace heddle::acceptance {
namespace {

constexpr const char* kCheck = "goodput of NIC";

struct Measured {
  FlowFigures flow;
  double allowed = 0;  // payload that the links can carry; of a NIC without a plan the median

  double share() const { return allowed == 0 ? 1 : flow.bits_per_s / allowed; }
};

struct OfNic {
  std::vector<Measured> pairs;
  bool planned = false;
};

double median_of(const std::vector<Measured>& pairs) {
  std::vector<double> rates;
  for (const Measured& each : pairs) {
    if (each.flow.complaint.empty()) rates.push_back(each.flow.bits_per_s);
  }
  if (rates.empty()) return 0;
  const auto middle = rates.begin() + static_cast<std::ptrdiff_t>(rates.size() / 2);
  std::nth_element(rates.begin(), middle, rates.end());
  return *middle;
}

// No topology has the NIC, and no pair has a figure over it: the stage reach has said it, and each
// further round would wait for answers that do not come.
bool is_another_network(const OfNic& nic) {
  return !nic.planned && std::none_of(nic.pairs.begin(), nic.pairs.end(),
                                      [](const auto& each) { return each.flow.complaint.empty(); });
}

class NicGoodput {
 public:
  NicGoodput(Session& session, StageReport& report) : session_(session), report_(report) {}

  Result<std::vector<std::vector<HostPair>>> run() {
    const std::vector<std::vector<HostNic>> nics = nics_of(session_.fabric());
    std::vector<std::vector<HostPair>> rounds;
    for (const std::vector<HostPair>& round : session_.rounds(true)) {
      for (const auto& [device, pairs] : nic_pairs(nics, round)) {
        if (session_.interrupted()) return rounds;
        const auto known = nics_.find(device);
        if (known != nics_.end() && is_another_network(known->second)) continue;
        auto over_plan = measure(device, pairs);
        if (!over_plan) return fail(std::move(over_plan).error());
        if (!over_plan->empty()) rounds.push_back(std::move(*over_plan));
      }
    }
    for (auto& [device, nic] : nics_) {
      if (!is_another_network(nic)) judge(device, nic);
    }
    return rounds;
  }

 private:
  // All at once. Returns those that the topology has.
  Result<std::vector<HostPair>> measure(const std::string& device,
                                        const std::vector<NicPair>& tested) {
    std::vector<HostPair> pairs;
    std::vector<HostPair> planned;
    for (const NicPair& each : tested) {
      pairs.push_back(each.pair);
      if (each.planned()) planned.push_back(each.pair);
    }
    session_.progress(fmt::format("pairs: {}", device));
    const std::vector<double> allowed = session_.payload_rates(pairs);
    const auto flows = run_flows_again(session_, pairs, allowed);
    if (!flows) return fail(flows.error());
    if (session_.interrupted()) return planned;  // its commands were ended
    OfNic& nic = nics_[device];
    nic.planned |= !planned.empty();
    for (size_t i = 0; i < pairs.size(); ++i) nic.pairs.push_back({(*flows)[i], allowed[i]});
    return planned;
  }

  void judge(const std::string& device, OfNic& nic) {
    if (!nic.planned) {
      const double median = median_of(nic.pairs);
      for (Measured& each : nic.pairs) each.allowed = median;
    }
    add_data(device, nic);
    std::vector<HostPair> all;
    std::vector<HostPair> bad;
    std::vector<const Measured*> slow;
    std::vector<const Measured*> fine;
    Grade worst = Grade::kOk;
    for (const Measured& each : nic.pairs) {
      const Grade grade = grade_of_pair(nic, each);
      worst = std::max(worst, grade);
      all.push_back(each.flow.pair);
      if (grade != Grade::kOk) bad.push_back(each.flow.pair);
      (grade == Grade::kOk ? fine : slow).push_back(&each);
    }
    if (const std::optional<uint32_t> host = host_behind(bad, all)) {
      report_.rows.push_back({kCheck, session_.host(*host),
                              fmt::format("{}: slow to and from every host", device),
                              "as other hosts", worst,
                              fmt::format("check the port speed and cable of {} on {}, and its "
                                          "processors",
                                          device, session_.host(*host))});
    }
    add_slow(device, nic, slow);
    add_fine(device, nic, fine);
  }

  // Of a pair without a figure too: that is no speed.
  Grade grade_of_pair(const OfNic& nic, const Measured& each) const {
    const Grade grade =
        each.flow.complaint.empty()
            ? session_.grade_of_speed(each.share(), session_.expectations().pair_share)
            : Grade::kFail;
    return nic.planned ? grade : std::min(grade, Grade::kWarn);
  }

  // The slowest first; the others in one row.
  void add_slow(const std::string& device, const OfNic& nic, std::vector<const Measured*> slow) {
    std::stable_sort(slow.begin(), slow.end(), [](const Measured* a, const Measured* b) {
      return a->flow.bits_per_s < b->flow.bits_per_s;
    });
    const double least = session_.expectations().pair_share;
    const size_t shown = std::min(slow.size(), params::kMostPairRows);
    for (size_t i = 0; i < shown; ++i) {
      const Measured& each = *slow[i];
      const std::string measured =
          each.flow.complaint.empty()
              ? fmt::format("{}, {:.0f}% of {}", rate_text(each.flow.bits_per_s),
                            each.share() * 100, reference_of(nic))
              : each.flow.complaint;
      report_.rows.push_back({kCheck, session_.pair_name(each.flow.pair),
                              fmt::format("{}: {}", device, measured),
                              fmt::format("at least {}", rate_text(each.allowed * least)),
                              grade_of_pair(nic, each), todo_of_slow_pair(session_)});
    }
    if (shown == slow.size()) return;
    report_.rows.push_back(
        {kCheck,
         fmt::format("{} more {}", slow.size() - shown,
                     slow.size() - shown == 1 ? "pair" : "pairs"),
         fmt::format("{}: {:.0f}% to {:.0f}% of {}", device, slow[shown]->share() * 100,
                     slow.back()->share() * 100, reference_of(nic)),
         fmt::format("at least {:.0f}%", least * 100), grade_of_pair(nic, *slow[shown]),
         todo_of_slow_pair(session_)});
  }

  void add_fine(const std::string& device, const OfNic& nic,
                const std::vector<const Measured*>& fine) {
    if (fine.empty()) return;
    const auto [lowest, highest] = std::minmax_element(
        fine.begin(), fine.end(),
        [](const Measured* a, const Measured* b) { return a->share() < b->share(); });
    report_.rows.push_back(
        {kCheck, fmt::format("{} of {} pairs", fine.size(), nic.pairs.size()),
         fmt::format("{}: {:.0f}% to {:.0f}% of {}", device, (*lowest)->share() * 100,
                     (*highest)->share() * 100, reference_of(nic)),
         fmt::format("at least {:.0f}%", session_.expectations().pair_share * 100)});
  }

  static std::string reference_of(const OfNic& nic) {
    if (nic.planned) return "what the links carry";
    return fmt::format("the median, {}", rate_text(nic.pairs.front().allowed));
  }

  void add_data(const std::string& device, const OfNic& nic) {
    for (const Measured& each : nic.pairs) {
      report_.data["nic_pairs"].push_back({{"device", device},
                                           {"from", session_.host(each.flow.pair.from)},
                                           {"to", session_.host(each.flow.pair.to)},
                                           {"goodput_bits_per_s", each.flow.bits_per_s},
                                           {"allowed_bits_per_s", each.allowed},
                                           {"planned", nic.planned}});
    }
  }

  Session& session_;
  StageReport& report_;
  std::map<std::string, OfNic> nics_;  // by device
};

}  // namespace

Result<std::vector<std::vector<HostPair>>> measure_nics(Session& session, StageReport& report) {
  return NicGoodput(session, report).run();
}

}  // namespace heddle::acceptance
