// Hangs and mismatches: see rules.h. A rank that has not called the operation in which others wait
// is the cause unless it waits in another operation itself; then the cause is there.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "insight/diagnosis/params.h"
#include "insight/diagnosis/rules.h"

namespace heddle::insight {
namespace {

using Processes = std::set<uint32_t>;

struct Open {
  const Operation* operation = nullptr;
  Processes waiting;        // have called it, and it has not ended there
  Processes absent;         // have not called it
  uint32_t dead = kNobody;  // the first that died waiting; see first_dead()
};

// How long an operation may be open: longer than the longest that the job has had so far, from its
// first call to its end.
int64_t patience_of(const OperationIndex& index) {
  const bool first = index.ended() < params::kFirstOperations;
  return std::max(first ? params::kHangFirstNs : params::kHangNs,
                  params::kHangPauses * index.longest_ns());
}

class Hangs {
 public:
  Hangs(const JobFacts& facts, int64_t until, Diagnosis& diagnosis)
      : facts_(facts), until_(until), diagnosis_(diagnosis) {}

  void find() {
    patience_ = patience_of(facts_.index());
    collect_dead();
    for (const auto& [key, operation] : facts_.index().unfinished()) collect(*operation);
    for (Open& open : open_) {
      open.dead = first_dead(open);
      for (const uint32_t process : open.waiting) waits_in_[process].push_back(&open);
    }
    report_absent();
    if (diagnosis_.verdicts.empty()) report_stalled();
    if (!open_.empty() && diagnosis_.verdicts.empty()) {
      diagnosis_.not_judged.push_back(fmt::format(
          "{} operations had not ended when the recording did: too short before its end for a "
          "hang, which takes {} in this job{}",
          open_.size(), seconds_text(patience_),
          of_heddle() ? ""
                      : "; dumps of other tools do not say when they were written: --hung-for"));
    }
    if (not_known_ > 0) {
      diagnosis_.not_judged.push_back(fmt::format(
          "ranks wait in {} operations, and of some that called none of them the recording is "
          "missing or has lost events",
          not_known_));
    }
  }

 private:
  // Calls failed: a peer was declared dead, for example.
  static bool failed(const Operation& operation) {
    return std::any_of(operation.parts.begin(), operation.parts.end(),
                       [](const Part& part) { return part.failed; });
  }

  bool of_heddle() const {
    const std::vector<ProcessFacts>& all = facts_.processes();
    return std::all_of(all.begin(), all.end(),
                       [](const ProcessFacts& each) { return each.of_heddle; });
  }

  // By process, the peers that its connections declared dead.
  void collect_dead() {
    for (const auto& [process, id] : facts_.troubled()) {
      const ConnectionFacts& connection = facts_.connection(process, id);
      const bool dead = std::any_of(
          connection.troubles.begin(), connection.troubles.end(),
          [](const Trouble& trouble) { return trouble.kind == Trouble::Kind::kPeerDead; });
      const uint32_t peer =
          dead ? facts_.process_of(connection.communicator, connection.peer) : kNobody;
      if (peer == kNobody || peer == process) continue;
      if (facts_.processes()[process].of_heddle) declared_dead_.insert(peer);
      declares_dead_.insert(process);
    }
    for (const ProcessFacts& each : facts_.processes()) closed_ += each.end.closed ? 1 : 0;
  }

  void collect(const Operation& operation) {
    if (operation.open == 0 || operation.began == kNever) return;
    Open open{.operation = &operation, .waiting = {}, .absent = {}};
    for (size_t i = 0; i < operation.parts.size(); ++i) {
      const Part& part = operation.parts[i];
      if (part.made != kNever) {
        if (part.done()) continue;
        // It may have ended since: what it writes is not seen.
        if (!part.failed && !is_heard(part.process)) {
          ++not_known_;
          return;
        }
        open.waiting.insert(part.process);
        continue;
      }
      const uint32_t process = facts_.process_of(operation.key.communicator, operation.rank_of(i));
      // Of a rank without a recording, or one whose events are missing, nothing is known.
      if (process == kNobody || !is_known(process)) {
        if (operation.in_flight > 0) ++not_known_;
        return;
      }
      open.absent.insert(process);
    }
    if (!open.waiting.empty()) open_.push_back(std::move(open));
  }

  bool is_known(uint32_t process) const {
    const FileEnd& end = facts_.processes()[process].end;
    return end.complete && end.heard;
  }

  bool long_enough(const Open& open) const {
    if (until_ - open.operation->due >= patience_) return true;
    const Processes& suspects = open.absent.empty() ? open.waiting : open.absent;
    const auto any = [&suspects](auto&& is) {
      return std::any_of(suspects.begin(), suspects.end(), is);
    };
    if (any([this](uint32_t process) { return died(process); })) return true;
    if (died_within(open)) return true;
    if (!failed(*open.operation)) return false;
    // Failed, because a process fell silent: keep-alives would have been recorded.
    return any([this](uint32_t process) { return silent(process); }) ||
           (open.absent.empty() && declared_dead(open));
  }

  // It ended without its close, and the others went on: they declared it dead, or all have closed.
  // Launchers end them soon after, so that the recording may be over within milliseconds.
  bool died(uint32_t process) const {
    const std::vector<ProcessFacts>& all = facts_.processes();
    if (!all[process].of_heddle || all[process].end.closed || !is_heard(process)) return false;
    return declared_dead_.contains(process) || (closed_ > 0 && closed_ + 1 == all.size());
  }

  // Of those that a launcher ended one may not have closed either: others that waited with it and
  // closed, or declared it dead, are evidence that it died before. One that recorded that its call
  // failed did not die in it. kNobody: none died.
  uint32_t first_dead(const Open& open) const {
    const bool others_close =
        std::any_of(open.waiting.begin(), open.waiting.end(),
                    [this](uint32_t process) { return facts_.processes()[process].end.closed; });
    uint32_t first = kNobody;
    for (const Part& part : open.operation->parts) {
      if (part.made == kNever || part.ended != kNever) continue;
      if (!died(part.process) || !(others_close || declared_dead_.contains(part.process))) continue;
      if (first == kNobody || newest(part.process) < newest(first)) first = part.process;
    }
    return first;
  }

  int64_t newest(uint32_t process) const { return facts_.processes()[process].last; }

  // A process died that had called it, and all that did not call it left after that and closed: a
  // launcher ended them between two calls.
  bool died_within(const Open& open) const {
    if (open.absent.empty() || open.dead == kNobody) return false;
    return std::all_of(open.absent.begin(), open.absent.end(), [this, &open](uint32_t process) {
      return facts_.processes()[process].end.closed && left_after_death(process, open);
    });
  }

  // By more than their clocks may differ: else it may have left first, and the launcher ended the
  // other one, which waited for it. And before it would have been the one that hangs: launchers end
  // a job's other ranks within seconds.
  bool left_after_death(uint32_t process, const Open& open) const {
    const ProcessFacts& facts = facts_.processes()[process];
    const ProcessFacts& dead = facts_.processes()[open.dead];
    const auto member = facts.communicators.find(open.operation->key.communicator);
    const bool has_left = member != facts.communicators.end() && member->second.left != kNever;
    const int64_t left = has_left ? member->second.left : facts.last;
    const bool one_clock = !dead.party.host.empty() && facts.party.host == dead.party.host;
    if (static_cast<double>(left) - static_cast<double>(dead.last) >=
        static_cast<double>(patience_)) {
      return false;
    }
    if (one_clock) return left >= dead.last;
    if (facts.end.clock_error_ns < 0 || dead.end.clock_error_ns < 0) return false;
    const double error_ns = static_cast<double>(facts.end.clock_error_ns) +
                            static_cast<double>(dead.end.clock_error_ns);
    return static_cast<double>(left) - static_cast<double>(dead.last) >= error_ns;
  }

  bool silent(uint32_t process) const {
    const ProcessFacts& facts = facts_.processes()[process];
    return facts.of_heddle && !facts.end.closed && is_heard(process) &&
           (until_ - facts.last >= params::kSilentNs || died(process));
  }

  bool is_heard(uint32_t process) const { return facts_.processes()[process].end.heard; }

  bool declared_dead(const Open& open) const {
    return std::any_of(open.waiting.begin(), open.waiting.end(), [this, &open](uint32_t process) {
      for (const auto& [id, connection] : facts_.processes()[process].connections) {
        if (connection.communicator != open.operation->key.communicator) continue;
        for (const Trouble& trouble : connection.troubles) {
          if (trouble.kind == Trouble::Kind::kPeerDead) return true;
        }
      }
      return false;
    });
  }

  // It waits in an operation of its own, so that it is not the cause.
  bool waits_elsewhere(uint32_t process, const Open& here) const {
    const auto found = waits_in_.find(process);
    if (found == waits_in_.end()) return false;
    const ProcessFacts& facts = facts_.processes()[process];
    if (silent(process)) return false;
    if (facts.has_waits && facts.waits == 0) return false;
    return std::any_of(found->second.begin(), found->second.end(),
                       [&here](const Open* each) { return each != &here; });
  }

  // It left the job because another process was dead to it: that one is the cause.
  bool left_for_another(uint32_t process) const {
    const std::vector<ProcessFacts>& all = facts_.processes();
    const auto has_left = [](const auto& entry) { return entry.second.left != kNever; };
    const bool left =
        all[process].end.closed ||
        std::any_of(all[process].communicators.begin(), all[process].communicators.end(), has_left);
    return left && declares_dead_.contains(process);
  }

  void report_absent() {
    std::map<uint32_t, const Open*> causes;  // by process, the operation that waits longest
    const Open* circle = nullptr;
    for (const Open& open : open_) {
      if (open.absent.empty() || died_within(open) || !long_enough(open)) continue;
      bool any = false;
      for (const uint32_t process : open.absent) {
        if (waits_elsewhere(process, open) || left_for_another(process)) continue;
        any = true;
        const Open*& cause = causes[process];
        if (cause == nullptr || open.operation->due < cause->operation->due) cause = &open;
      }
      if (!any && circle == nullptr) circle = &open;
    }
    // Where all have called one of the operations, the others wait for it, and for no circle.
    const bool stalled = std::any_of(open_.begin(), open_.end(),
                                     [](const Open& open) { return open.absent.empty(); });
    if (causes.empty() && circle != nullptr && !stalled) return report_circle(*circle);
    for (const auto& [process, open] : causes) report_absent(process, *open);
  }

  void report_absent(uint32_t process, const Open& open) {
    const ProcessFacts& facts = facts_.processes()[process];
    const std::string name = full_name(facts.party);
    const Operation& operation = *open.operation;
    const auto member = facts.communicators.find(operation.key.communicator);
    const uint64_t calls = member == facts.communicators.end() ? 0 : member->second.calls;
    const bool stopped = silent(process);
    Verdict verdict;
    verdict.what = VerdictClass::kNonCommunicationHang;
    verdict.place = {PlaceKind::kRank, {process}, facts.party.host};
    verdict.since_ns = stopped ? std::min(facts.last, operation.due) : operation.began;
    verdict.summary =
        fmt::format("{} never started {}, in which {} rank{} wait", name, operation_text(operation),
                    open.waiting.size(), open.waiting.size() == 1 ? "" : "s");
    verdict.evidence = {
        fmt::format("the first of the others called it {} before the end of the recording",
                    seconds_text(until_ - operation.began)),
        fmt::format("{} made {} calls in communicator {:016x}, and its newest event is {} before "
                    "the end",
                    name, calls, operation.key.communicator, seconds_text(until_ - facts.last))};
    const bool left = member != facts.communicators.end() && member->second.left != kNever;
    if (left) {
      verdict.what = VerdictClass::kMismatch;
      verdict.evidence.push_back("it left the communicator: the others make more calls than it");
      verdict.action = "make the same calls on all ranks: compare the lengths of their data";
    } else if (stopped) {
      verdict.evidence.push_back(
          "a live process records keep-alives: this one was stopped, or ended without its close");
      verdict.action = fmt::format(
          "on {} look whether the process lives (state T: stopped), at its output, at dmesg for "
          "the OOM killer and GPU errors; then replace the host or restart the job there",
          facts.party.host);
    } else {
      verdict.action = fmt::format(
          "on {} look where its program is (py-spy dump, gdb -p): data loader, file system, GPU "
          "kernel or a lock",
          facts.party.host);
    }
    const double age = static_cast<double>(until_ - operation.due);
    verdict.confidence =
        stopped || left
            ? params::kStopped
            : std::clamp(params::kLeastWaited + 0.1 * age / static_cast<double>(patience_),
                         params::kLeastWaited, params::kMostWaited);
    diagnosis_.verdicts.push_back(std::move(verdict));
  }

  void report_circle(const Open& open) {
    Verdict verdict;
    verdict.what = VerdictClass::kMismatch;
    verdict.since_ns = open.operation->due;
    std::set<uint32_t> processes = open.waiting;
    processes.insert(open.absent.begin(), open.absent.end());
    verdict.place = {PlaceKind::kGroup, {processes.begin(), processes.end()}, ""};
    verdict.summary =
        "ranks wait for each other in a circle: they call operations in another order";
    for (const uint32_t process : processes) {
      const auto found = waits_in_.find(process);
      if (found == waits_in_.end() || verdict.evidence.size() == 8) continue;
      verdict.evidence.push_back(fmt::format("{} waits in {}",
                                             full_name(facts_.processes()[process].party),
                                             operation_text(*found->second.front()->operation)));
    }
    verdict.confidence = params::kPlaced;
    verdict.action = "call operations of several communicators in one order on all ranks";
    diagnosis_.verdicts.push_back(std::move(verdict));
  }

  // All have called it, but for those that were ended since a process died in it: data does not
  // arrive. Where a message was ready at its sender and did not arrive, the sender is further than
  // its receiver by more messages than elsewhere.
  void report_stalled() {
    const Open* first = nullptr;
    for (const Open& open : open_) {
      if (!(open.absent.empty() || died_within(open)) || !long_enough(open)) continue;
      if (first == nullptr || open.operation->due < first->operation->due) first = &open;
    }
    if (first == nullptr) return;
    const Operation& operation = *first->operation;
    Verdict verdict;
    verdict.what = VerdictClass::kCommunicationHang;
    verdict.since_ns = operation.due;
    verdict.summary =
        first->absent.empty()
            ? fmt::format("all ranks started {}, and {} of {} did not finish it",
                          operation_text(operation), first->waiting.size(), operation.parts.size())
            : fmt::format("{} of {} ranks started {} and did not finish it, and the job was ended",
                          first->waiting.size(), operation.parts.size(), operation_text(operation));
    verdict.evidence.push_back(
        fmt::format("the last rank called it {} before the end of the recording",
                    seconds_text(until_ - operation.due)));
    uint32_t stopped = first->dead;
    for (const uint32_t process : first->waiting) {
      if (!silent(process)) continue;
      const bool before = stopped == kNobody || newest(process) < newest(stopped);
      if (first->dead == kNobody && before) stopped = process;
      verdict.evidence.push_back(fmt::format(
          "{} recorded nothing in the last {}: it was stopped or ended within the operation",
          full_name(facts_.processes()[process].party), seconds_text(until_ - newest(process))));
    }
    if (stopped == kNobody) {
      locate(operation, verdict);
    } else {
      verdict.place = {PlaceKind::kRank, {stopped}, facts_.processes()[stopped].party.host};
    }
    verdict.confidence =
        verdict.place.kind == PlaceKind::kJob ? params::kUnplaced : params::kPlaced;
    verdict.action =
        verdict.place.kind == PlaceKind::kRank || one_host(operation)
            ? "look whether these processes live, and at their output"
            : "check that link with `heddle ping` and `heddle paths` from the sender's "
              "host, both NICs' counters, and the switches between";
    diagnosis_.verdicts.push_back(std::move(verdict));
  }

  // No NIC and no switch is between its ranks.
  bool one_host(const Operation& operation) const {
    const auto host = [this](const Part& part) -> const std::string& {
      return facts_.processes()[part.process].party.host;
    };
    return std::all_of(operation.parts.begin(), operation.parts.end(), [&](const Part& part) {
      return part.process != kNobody && host(part) == host(operation.parts.front());
    });
  }

  void locate(const Operation& operation, Verdict& verdict) {
    std::vector<std::pair<uint32_t, uint32_t>> links;
    int64_t most = 1;  // a ring's link in good order lags by one message at most
    for (uint32_t to = 0; to < operation.parts.size() && !operation.between_two(); ++to) {
      for (const Inflow& inflow : operation.parts[to].inflows) {
        if (inflow.from >= operation.parts.size()) continue;
        const Part& sender = operation.parts[inflow.from];
        int64_t ready = 0;
        for (const Inflow& each : sender.inflows) ready = std::max<int64_t>(ready, each.messages);
        const int64_t lag = ready - inflow.messages;
        if (lag < most) continue;
        if (lag > most) links.clear();
        most = lag;
        links.emplace_back(sender.process, operation.parts[to].process);
        verdict.evidence.push_back(fmt::format(
            "{} received {} messages of it and {} only {} from there",
            full_name(facts_.processes()[sender.process].party), ready,
            full_name(facts_.processes()[operation.parts[to].process].party), inflow.messages));
      }
    }
    const auto troubled = troubled_links(operation);
    if (!troubled.empty()) links = troubled;
    for (const auto& [from, to] : troubled) {
      verdict.evidence.push_back(fmt::format("{} retransmitted data to {} after time-outs",
                                             full_name(facts_.processes()[from].party),
                                             full_name(facts_.processes()[to].party)));
    }
    if (!links.empty()) verdict.place = place_of_links(facts_, links);
  }

  std::vector<std::pair<uint32_t, uint32_t>> troubled_links(const Operation& operation) const {
    std::vector<std::pair<uint32_t, uint32_t>> links;
    for (const Part& part : operation.parts) {
      for (const auto& [id, connection] : facts_.processes()[part.process].connections) {
        if (connection.communicator != operation.key.communicator) continue;
        const bool timed_out = std::any_of(
            connection.troubles.begin(), connection.troubles.end(), [&](const Trouble& trouble) {
              return trouble.at >= operation.began && (trouble.kind == Trouble::Kind::kTimeout ||
                                                       trouble.kind == Trouble::Kind::kPeerDead);
            });
        const uint32_t peer = facts_.process_of(connection.communicator, connection.peer);
        if (timed_out && peer != kNobody) links.emplace_back(part.process, peer);
      }
    }
    return links;
  }

  const JobFacts& facts_;
  const int64_t until_;
  Diagnosis& diagnosis_;
  int64_t patience_ = 0;
  Processes declared_dead_;
  Processes declares_dead_;
  size_t closed_ = 0;
  uint64_t not_known_ = 0;  // operations that ranks wait in, while of others nothing is known
  std::vector<Open> open_;
  std::map<uint32_t, std::vector<const Open*>> waits_in_;
};

}  // namespace

void find_hangs(const JobFacts& facts, int64_t until_ns, Diagnosis& diagnosis) {
  Hangs(facts, until_ns, diagnosis).find();
}

}  // namespace heddle::insight
