// See diagnosis.h. The rules are in diagnosis/.
#include "insight/diagnosis.h"

#include <fmt/format.h>

#include <algorithm>

#include "insight/diagnosis/job_facts.h"
#include "insight/diagnosis/params.h"
#include "insight/diagnosis/rhythm.h"
#include "insight/diagnosis/rules.h"

namespace heddle::insight {

const char* name_of(VerdictClass verdict) {
  switch (verdict) {
    case VerdictClass::kNonCommunicationHang:
      return "non_communication_hang";
    case VerdictClass::kCommunicationHang:
      return "communication_hang";
    case VerdictClass::kMismatch:
      return "mismatch";
    case VerdictClass::kNonCommunicationSlow:
      return "non_communication_slow";
    case VerdictClass::kCommunicationSlow:
      return "communication_slow";
    case VerdictClass::kMixedSlow:
      return "mixed_slow";
    case VerdictClass::kDegradation:
      return "degradation";
    case VerdictClass::kFlapping:
      return "flapping";
    case VerdictClass::kPathFailure:
      return "path_failure";
    case VerdictClass::kFabricCollision:
      return "fabric_collision";
    case VerdictClass::kLoadImbalance:
      return "load_imbalance";
  }
  return "unknown";
}

const char* name_of(PlaceKind place) {
  switch (place) {
    case PlaceKind::kRank:
      return "rank";
    case PlaceKind::kSenderNic:
      return "sender_nic";
    case PlaceKind::kReceiverNic:
      return "receiver_nic";
    case PlaceKind::kNic:
      return "nic";
    case PlaceKind::kLink:
      return "link";
    case PlaceKind::kRoute:
      return "route";
    case PlaceKind::kGroup:
      return "group";
    case PlaceKind::kJob:
      return "job";
  }
  return "unknown";
}

std::string place_text(const Diagnosis& diagnosis, const Place& place) {
  const auto name = [&](size_t i) { return full_name(diagnosis.parties[place.processes[i]]); };
  switch (place.kind) {
    case PlaceKind::kRank:
      return name(0);
    case PlaceKind::kSenderNic:
      return "NIC of " + place.host + " (sending)";
    case PlaceKind::kReceiverNic:
      return "NIC of " + place.host + " (receiving)";
    case PlaceKind::kNic:
      return "NIC of " + place.host;
    case PlaceKind::kLink:
      return "link from " + name(0) + " to " + name(1);
    case PlaceKind::kRoute:
      return "route by " + place.host;
    case PlaceKind::kGroup:
      return fmt::format("{} ranks", place.processes.size());
    case PlaceKind::kJob:
      break;
  }
  return "job";
}

std::string seconds_text(int64_t ns) {
  return fmt::format("{:.3f} s", 1e-9 * static_cast<double>(ns));
}

std::string operation_text(const Operation& operation) {
  return fmt::format("{} {}", name_of(operation.what), operation.key.number);
}

// The ranks that called something else than most did.
void find_mismatches(const JobFacts& facts, Diagnosis& diagnosis) {
  if (facts.index().different().empty()) return;
  // Later ones follow from the first.
  const Operation& operation = *facts.index().different().begin()->second;
  Verdict verdict;
  verdict.what = VerdictClass::kMismatch;
  verdict.since_ns = operation.began;
  verdict.place.kind = PlaceKind::kGroup;
  std::map<uint64_t, std::vector<uint32_t>> by_count;
  for (const Part& part : operation.parts) {
    if (part.made != kNever) by_count[part.count].push_back(part.process);
  }
  for (const auto& [count, processes] : by_count) {
    verdict.evidence.push_back(fmt::format("{} rank{} called it with {} elements, among them {}",
                                           processes.size(), processes.size() == 1 ? "" : "s",
                                           count,
                                           full_name(facts.processes()[processes.front()].party)));
    const bool fewer =
        verdict.place.processes.empty() || processes.size() < verdict.place.processes.size();
    if (fewer) verdict.place.processes = processes;
  }
  if (verdict.place.processes.size() == 1) verdict.place.kind = PlaceKind::kRank;
  verdict.summary = fmt::format("ranks called operation {} of communicator {:016x} differently",
                                operation.key.number, operation.key.communicator);
  verdict.confidence = params::kDiffers;
  verdict.action = "make the same calls, with equal types, counts and roots, on all ranks";
  diagnosis.verdicts.push_back(std::move(verdict));
}

class DiagnosisBuilder::Body {
 public:
  explicit Body(const DiagnosisOptions& options)
      : options_(options), facts_(options.most_parts, options.parts_a_process) {}

  JobFacts& facts() { return facts_; }
  const DiagnosisOptions& options() const { return options_; }

  Diagnosis diagnose(int64_t since_ns, int64_t alive_until_ns) const {
    Diagnosis diagnosis;
    diagnosis.until_ns = std::max(facts_.last(), alive_until_ns);
    for (const ProcessFacts& process : facts_.processes()) {
      diagnosis.parties.push_back(process.party);
    }
    find_mismatches(facts_, diagnosis);
    if (diagnosis.verdicts.empty()) find_hangs(facts_, diagnosis.until_ns, diagnosis);
    const bool hangs =
        std::any_of(diagnosis.verdicts.begin(), diagnosis.verdicts.end(),
                    [](const Verdict& each) { return each.what != VerdictClass::kMismatch; });
    std::vector<LateLinks> late;
    int64_t compared_from_ns = INT64_MAX;
    for (BlockSeries& series : make_series(facts_, since_ns)) {
      if (options_.least_errors > 0) series.least_errors = options_.least_errors;
      if (series.blocks.size() < params::kLeastBlocks) {
        diagnosis.not_judged.push_back(fmt::format(
            "slowness in communicator {:016x}, which completed {} collectives: it is judged from "
            "{} collectives in {:.1f} s on",
            series.communicator, series.operations, params::kLeastBlocks,
            1e-9 * static_cast<double>(params::kLeastBlockNs * params::kLeastBlocks)));
        continue;
      }
      diagnosis.operations += series.operations;
      compared_from_ns = std::min(compared_from_ns, series.blocks.front().begin);
      find_slow_ranks(facts_, series, diagnosis);
      find_slow_links(facts_, series, diagnosis, late);
      if (auto delays = delay_matrix(facts_, series)) {
        diagnosis.delays.push_back(std::move(*delays));
      }
    }
    find_collisions(facts_, late, diagnosis);
    find_mixed_slow(facts_, compared_from_ns, diagnosis);
    // Of a job that hangs all paths to a rank may have failed.
    if (!hangs) find_path_faults(facts_, since_ns, diagnosis);
    limit(diagnosis);
    return diagnosis;
  }

  // Too costly for the recent looks at a job that runs, one each second.
  void add_rhythms(Diagnosis& diagnosis, int64_t since_ns, const RhythmBounds& bounds) const {
    find_length_imbalance(facts_, since_ns, diagnosis);
    diagnosis.rhythms = find_rhythms(facts_, since_ns, bounds);
    note_slower_steps(diagnosis);
  }

 private:
  void limit(Diagnosis& diagnosis) const {
    if (facts_.operations_dropped() > 0) {
      diagnosis.not_judged.push_back(
          fmt::format("the oldest {} operations", facts_.operations_dropped()));
    }
    for (const uint64_t communicator : facts_.sparse()) {
      diagnosis.not_judged.push_back(fmt::format(
          "communicator {:016x}: it has {} ranks, and recordings are there of {} processes",
          communicator, facts_.size_of(communicator), facts_.processes().size()));
      if (diagnosis.not_judged.size() == params::kMostNotJudged) break;
    }
    if (facts_.operations().empty()) {
      diagnosis.not_judged.push_back(
          "no call of a collective was recorded: record at level bins or above");
    }
    std::stable_sort(diagnosis.verdicts.begin(), diagnosis.verdicts.end(),
                     [](const Verdict& a, const Verdict& b) {
                       return a.what != b.what ? a.what < b.what : a.cost > b.cost;
                     });
    // A rank is late in each of its communicators: once is enough.
    std::vector<Verdict> kept;
    for (Verdict& verdict : diagnosis.verdicts) {
      const bool known = std::any_of(kept.begin(), kept.end(), [&verdict](const Verdict& each) {
        return each.what == verdict.what && each.place == verdict.place;
      });
      if (!known) kept.push_back(std::move(verdict));
    }
    diagnosis.verdicts = std::move(kept);
  }

  const DiagnosisOptions options_;
  JobFacts facts_;
};

DiagnosisBuilder::DiagnosisBuilder(const DiagnosisOptions& options)
    : body_(std::make_unique<Body>(options)) {}
DiagnosisBuilder::~DiagnosisBuilder() = default;

uint32_t DiagnosisBuilder::add_process(const Identity& identity, const FileEnd& end) {
  return body_->facts().add_process(identity, end);
}

void DiagnosisBuilder::add(uint32_t process, const events::AnyEvent& event, int64_t at_ns) {
  body_->facts().add(process, event, at_ns);
}

void DiagnosisBuilder::set_end(uint32_t process, const FileEnd& end) {
  body_->facts().set_end(process, end);
}

void DiagnosisBuilder::set_whole_from(int64_t at_ns) { body_->facts().set_whole_from(at_ns); }

Diagnosis DiagnosisBuilder::finish() const {
  Diagnosis diagnosis = diagnose(body_->options().since_ns, body_->options().alive_until_ns);
  body_->add_rhythms(diagnosis, body_->options().since_ns, {});
  return diagnosis;
}

Diagnosis DiagnosisBuilder::diagnose(int64_t since_ns, int64_t alive_until_ns) const {
  return body_->diagnose(since_ns, alive_until_ns);
}

void DiagnosisBuilder::add_live_rhythms(Diagnosis& diagnosis) const {
  body_->add_rhythms(diagnosis, INT64_MIN,
                     {params::kMostLiveRhythms, params::kMostLiveRhythmCalls});
}

}  // namespace heddle::insight
