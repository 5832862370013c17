// Rule: a rank that is slow at both, computing and communicating (C4D). Where its
// computation and its host's data are late at the same time, one cause at the host explains both,
// and two faults at once are rare: the two verdicts become one.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "insight/diagnosis/params.h"
#include "insight/diagnosis/rules.h"

namespace heddle::insight {
namespace {

bool is_slow(const Verdict& verdict) {
  return verdict.what == VerdictClass::kNonCommunicationSlow ||
         verdict.what == VerdictClass::kCommunicationSlow ||
         verdict.what == VerdictClass::kDegradation;
}

bool computes_slowly(const Verdict& verdict) {
  return is_slow(verdict) && verdict.place.kind == PlaceKind::kRank;
}

bool has_late_data(const Verdict& verdict) {
  return is_slow(verdict) && verdict.place.kind != PlaceKind::kRank;
}

// The time that both last, over the time that either does.
double share_together(const Verdict& one, const Verdict& other, int64_t until_ns) {
  const auto end = [until_ns](const Verdict& each) {
    return each.until_ns == kNever ? until_ns : each.until_ns;
  };
  const int64_t both = std::min(end(one), end(other)) - std::max(one.since_ns, other.since_ns);
  const int64_t either = std::max(end(one), end(other)) - std::min(one.since_ns, other.since_ns);
  return either > 0 ? static_cast<double>(both) / static_cast<double>(either) : 0;
}

class Mixing {
 public:
  Mixing(const JobFacts& facts, int64_t compared_from_ns, Diagnosis& diagnosis)
      : facts_(facts), compared_from_ns_(compared_from_ns), diagnosis_(diagnosis) {}

  void run() {
    std::vector<Verdict>& verdicts = diagnosis_.verdicts;
    const size_t count = verdicts.size();
    std::vector<bool> explained(count);
    for (size_t i = 0; i < count; ++i) {
      if (!computes_slowly(verdicts[i])) continue;
      for (size_t k = 0; k < count; ++k) {
        if (!has_late_data(verdicts[k]) || !have_one_cause(verdicts[i], verdicts[k])) continue;
        if (explained[i]) {  // another link or communicator of the same cause
          std::vector<std::string>& evidence = verdicts.back().evidence;
          evidence.insert(evidence.end(), verdicts[k].evidence.begin(), verdicts[k].evidence.end());
        } else {
          verdicts.push_back(mixed(verdicts[i], verdicts[k]));
        }
        explained[i] = explained[k] = true;
      }
    }
    // A rank's slowness is found in each of its communicators.
    for (size_t i = 0; i < count; ++i) {
      explained[i] = explained[i] || (computes_slowly(verdicts[i]) && is_mixed(verdicts[i]));
    }
    size_t at = 0;
    std::erase_if(verdicts, [&](const Verdict&) {
      const size_t i = at++;
      return i < count && explained[i];
    });
  }

 private:
  const std::string& host_of(uint32_t process) const {
    return facts_.processes()[process].party.host;
  }

  // At the same place and, in part, at the same time.
  bool is_mixed(const Verdict& computes) const {
    return std::any_of(
        diagnosis_.verdicts.begin(), diagnosis_.verdicts.end(), [&](const Verdict& each) {
          return each.what == VerdictClass::kMixedSlow && each.place == computes.place &&
                 share_together(each, computes, diagnosis_.until_ns) > 0;
        });
  }

  bool from_beginning(const Verdict& verdict) const {
    const int64_t compared = diagnosis_.until_ns - compared_from_ns_;
    return verdict.since_ns - compared_from_ns_ <=
           static_cast<int64_t>(params::kBeginning * static_cast<double>(compared));
  }

  // A NIC's host is known. A link has two, and the path between: that it became late together with
  // a rank at one of them shows which. Of what was so from the beginning nothing does.
  bool have_one_cause(const Verdict& computes, const Verdict& data) {
    const std::string& host = computes.place.host;
    if (host.empty()) return false;
    if (share_together(computes, data, diagnosis_.until_ns) < params::kLeastTogether) return false;
    if (data.place.kind != PlaceKind::kLink) return data.place.host == host;
    const std::vector<uint32_t>& ends = data.place.processes;
    if (host_of(ends[0]) != host && host_of(ends[1]) != host) return false;
    if (!from_beginning(data)) return true;
    diagnosis_.not_judged.push_back(fmt::format(
        "whether one cause at {} slows {} and the {}: they were so from the beginning", host,
        place_text(diagnosis_, computes.place), place_text(diagnosis_, data.place)));
    return false;
  }

  Verdict mixed(const Verdict& computes, const Verdict& data) const {
    Verdict verdict{.what = VerdictClass::kMixedSlow, .place = computes.place};
    verdict.since_ns = std::min(computes.since_ns, data.since_ns);
    const bool over = computes.until_ns != kNever && data.until_ns != kNever;
    if (over) verdict.until_ns = std::max(computes.until_ns, data.until_ns);
    verdict.confidence = std::min(computes.confidence, data.confidence);
    verdict.cost = computes.cost;
    verdict.summary =
        fmt::format("{} computes slowly, and data is late on the {}",
                    place_text(diagnosis_, computes.place), place_text(diagnosis_, data.place));
    verdict.evidence = computes.evidence;
    verdict.evidence.insert(verdict.evidence.end(), data.evidence.begin(), data.evidence.end());
    verdict.evidence.push_back(fmt::format(
        "its computation is late since {}, the data since {}: {:.0f}% of the time they are both",
        seconds_text(computes.since_ns), seconds_text(data.since_ns),
        100 * share_together(computes, data, diagnosis_.until_ns)));
    verdict.action = fmt::format(
        "on {} look for what slows all that runs there: other programs, a CPU quota (cpu.stat of "
        "its cgroup), throttled clocks, memory pressure (/proc/pressure); if nothing does, test "
        "its NIC",
        computes.place.host);
    return verdict;
  }

  const JobFacts& facts_;
  const int64_t compared_from_ns_;
  Diagnosis& diagnosis_;
};

}  // namespace

void find_mixed_slow(const JobFacts& facts, int64_t compared_from_ns, Diagnosis& diagnosis) {
  Mixing(facts, compared_from_ns, diagnosis).run();
}

}  // namespace heddle::insight
