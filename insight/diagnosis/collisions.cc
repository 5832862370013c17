// Rule: flows that collide. Late links without a host in common meet in the fabric. A link of the
// fabric that is slow delays each of them in each operation; flows that share a sound one delay
// each other only while both are active. The other flow may be of the job (another communicator,
// whose operations are recorded) or not (then the late links come and go together).
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "insight/diagnosis/late_together.h"
#include "insight/diagnosis/params.h"
#include "insight/diagnosis/rules.h"
#include "insight/diagnosis/shared_hop.h"

namespace heddle::insight {
namespace {

using Processes = std::pair<uint32_t, uint32_t>;  // sender, receiver

class Collisions {
 public:
  Collisions(const JobFacts& facts, const std::vector<LateLinks>& late, Diagnosis& diagnosis)
      : facts_(facts), late_(late), diagnosis_(diagnosis), collides_(late.size()) {
    for (const LateLinks& each : late) {
      compared_.push_back(late.size() > 1 ? compare_operations(facts, each)
                                          : std::vector<ComparedOperation>{});
    }
  }

  void run() {
    for (size_t one = 0; one < late_.size(); ++one) {
      for (size_t other = one + 1; other < late_.size(); ++other) judge_pair(one, other);
    }
    for (size_t i = 0; i < late_.size(); ++i) {
      if (!collides_[i]) judge(i);
    }
  }

 private:
  std::vector<Processes> processes_of(uint64_t communicator, const std::vector<Link>& links) const {
    std::vector<Processes> found;
    for (const auto& [from, to] : links) {
      const uint32_t sender = facts_.process_of(communicator, from);
      const uint32_t receiver = facts_.process_of(communicator, to);
      if (sender != kNobody && receiver != kNobody) found.emplace_back(sender, receiver);
    }
    return found;
  }

  Verdict& verdict_of(size_t i) { return diagnosis_.verdicts[*late_[i].verdict]; }

  // --- one communicator's links, beside flows that are not recorded ---

  void judge(size_t i) {
    const LateLinks& links = late_[i];
    const std::vector<Processes> processes = processes_of(links.communicator, links.all());
    if (!share_no_host(facts_, processes)) return;
    const Coming coming = coming_of(facts_, links);
    if (!links.verdict && !costs(coming)) return;
    const std::optional<SharedHop> hop = shared_hop(facts_, {&links});
    Verdict fresh = of_suspects(coming);
    Verdict& verdict = links.verdict ? verdict_of(i) : fresh;
    verdict.evidence.push_back(fmt::format(
        "of {} operations that are alike, all these links are late in {}, none in {}; "
        "they became late together {} times, and their delays correlate by {:.2f}",
        coming.operations(), coming.all, coming.none, coming.comings, coming.agreement));
    if (hop) add_hop(*hop, verdict);
    if (coming.comes_and_goes()) {
      collide(processes, hop, verdict);
      if (!links.verdict) diagnosis_.verdicts.push_back(std::move(fresh));
    } else if (coming.stays()) {
      diagnosis_.not_judged.push_back(fmt::format(
          "whether flows collide in communicator {:016x}, or a link of the fabric is slow: its "
          "late links are late in all operations, so that none shows them apart",
          links.communicator));
      if (hop) slow_there(*hop, verdict);
    }
  }

  // Whichever of the two it is, it is on that link of the fabric.
  void slow_there(const SharedHop& hop, Verdict& verdict) const {
    verdict.place = {PlaceKind::kRoute, {}, hop.routers};
    verdict.summary = "data is late on the " + place_text(diagnosis_, verdict.place);
    verdict.action =
        "look at the ports between these routers: rate, errors and load; with errors or a lower "
        "rate replace the cable or the optics, else see whose flows fill it";
  }

  // As much as a link that stands out.
  static bool costs(const Coming& coming) {
    return coming.comes_and_goes() && coming.delay >= params::kLeastDelay / 2 &&
           coming.until_ns - coming.since_ns >= params::kLeastEpisodeNs;
  }

  // It is over when it has rested for longer than its pauses can be: a quarter of its time.
  Verdict of_suspects(const Coming& coming) const {
    Verdict verdict{.what = VerdictClass::kFabricCollision, .since_ns = coming.since_ns};
    const int64_t rest_ns = diagnosis_.until_ns - coming.until_ns;
    if (rest_ns > (coming.until_ns - coming.since_ns) / 4) verdict.until_ns = coming.until_ns;
    verdict.confidence = params::kSeenTogether;
    return verdict;
  }

  static void add_hop(const SharedHop& hop, Verdict& verdict) {
    verdict.evidence.push_back(
        fmt::format("all of them pass the routers {}; of {} other links whose routers are known {} "
                    "do",
                    hop.routers, hop.known, hop.others));
  }

  // --- links of two communicators, each the other's flow ---

  void judge_pair(size_t one, size_t other) {
    const LateLinks& first = late_[one];
    const LateLinks& second = late_[other];
    if (collides_[one] || collides_[other]) return;
    if (!first.verdict || !second.verdict || first.of_nic || second.of_nic) return;
    if (first.communicator == second.communicator) return;
    if (first.since_ns >= second.until_ns || second.since_ns >= first.until_ns) return;
    std::vector<Processes> processes = processes_of(first.communicator, first.late);
    const std::vector<Processes> more = processes_of(second.communicator, second.late);
    processes.insert(processes.end(), more.begin(), more.end());
    if (!share_no_host(facts_, processes)) return;
    const Beside beside = beside_other(compared_[one], facts_, second.communicator);
    const Beside reverse = beside_other(compared_[other], facts_, first.communicator);
    if (!beside.depends() && !reverse.depends()) return;
    if (beside.is_late_alone() || reverse.is_late_alone()) return;
    collides_[one] = collides_[other] = true;
    const std::optional<SharedHop> hop = shared_hop(facts_, {&first, &second});
    for (const size_t i : {one, other}) {
      Verdict& verdict = verdict_of(i);
      add_beside(first, beside, verdict);
      add_beside(second, reverse, verdict);
      if (hop) add_hop(*hop, verdict);
      collide(processes, hop, verdict);
    }
  }

  static void add_beside(const LateLinks& links, const Beside& beside, Verdict& verdict) {
    verdict.evidence.push_back(fmt::format(
        "in communicator {:016x} its links are late in {} of {} operations beside the other "
        "communicator's, and in {} of {} without",
        links.communicator, beside.busy_late, beside.busy, beside.alone_late, beside.alone));
  }

  // --- verdicts ---

  void collide(const std::vector<Processes>& processes, const std::optional<SharedHop>& hop,
               Verdict& verdict) const {
    std::set<uint32_t> ends;
    for (const auto& [from, to] : processes) ends.insert({from, to});
    verdict.what = VerdictClass::kFabricCollision;
    verdict.place = {PlaceKind::kGroup, {ends.begin(), ends.end()}, ""};
    if (hop) verdict.place = {PlaceKind::kRoute, {}, hop->routers};
    verdict.confidence = std::min(verdict.confidence, params::kPlaced);
    verdict.summary =
        hop ? "flows collide on the " + place_text(diagnosis_, verdict.place)
            : "flows collide in the fabric between " + place_text(diagnosis_, verdict.place);
    verdict.action =
        "look which flows use a link of the fabric at these times (switch ports, other jobs); plan "
        "paths for both (`heddle plan lease`), give connections more of them (HEDDLE_PATHS), or "
        "place the jobs apart; errors at the port in place of load mean a faulty link";
  }

  const JobFacts& facts_;
  const std::vector<LateLinks>& late_;
  Diagnosis& diagnosis_;
  std::vector<std::vector<ComparedOperation>> compared_;  // by late_
  std::vector<bool> collides_;                            // the same
};

}  // namespace

void find_collisions(const JobFacts& facts, const std::vector<LateLinks>& late,
                     Diagnosis& diagnosis) {
  Collisions(facts, late, diagnosis).run();
}

}  // namespace heddle::insight
