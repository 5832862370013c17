// See live_diagnosis.h.
#include "monitor/live_diagnosis.h"

#include <algorithm>

#include "insight/node_evidence.h"
#include "monitor/params.h"

namespace heddle::monitor {
namespace {

bool is_hang(const insight::Verdict& verdict) {
  return verdict.what == insight::VerdictClass::kNonCommunicationHang ||
         verdict.what == insight::VerdictClass::kCommunicationHang;
}

}  // namespace

LiveDiagnosis::LiveDiagnosis()
    : builder_({.most_parts = params::kMostParts, .parts_a_process = params::kPartsARank}) {}

insight::Diagnosis LiveDiagnosis::diagnose(int64_t since_ns, int64_t alive_until_ns) const {
  insight::Diagnosis diagnosis = builder_.diagnose(since_ns, alive_until_ns);
  add_node_evidence(nodes_, diagnosis);
  return diagnosis;
}

std::vector<AlarmChange> LiveDiagnosis::look(int64_t alive_until_ns) {
  recent_ = diagnose(alive_until_ns - params::kRecent.count, alive_until_ns);
  const bool hangs = std::any_of(recent_.verdicts.begin(), recent_.verdicts.end(), is_hang);
  if (hangs) {
    // Nothing is completed any more: what was slow stays so, and nothing is found to be.
    std::erase_if(recent_.verdicts, [](const insight::Verdict& each) { return !is_hang(each); });
    return alarms_.look({{&recent_}, {&slow_, false}, {&newest_, false}, {&whole_, false}},
                        alive_until_ns);
  }
  slow_ = recent_;
  newest_ = builder_.diagnose(alive_until_ns - params::kNewest.count, alive_until_ns);
  const bool due = alive_until_ns >= whole_due_ns_;
  if (due) {
    whole_ = diagnose(INT64_MIN, alive_until_ns);
    builder_.add_live_rhythms(whole_);
    whole_due_ns_ = alive_until_ns + params::kWholeEvery.count;
  }
  return alarms_.look({{&recent_}, {&newest_}, {&whole_, due, params::kWeightOfWhole}},
                      alive_until_ns);
}

// Of the whole job only what is said of all its ranks, and what the recent look does not say: its
// figures differ. A fault that lasts may explain it, and is found in the newest part sooner.
std::vector<std::string> LiveDiagnosis::notes() const {
  std::vector<std::string> sentences;
  for (const insight::Verdict& note : recent_.notes) sentences.push_back(note.summary);
  if (!alarms_.lasting().empty()) return sentences;
  for (const insight::Verdict& note : whole_.notes) {
    if (note.place.kind != insight::PlaceKind::kJob) continue;
    const bool is_recent = std::any_of(recent_.notes.begin(), recent_.notes.end(),
                                       [&note](const insight::Verdict& each) {
                                         return each.what == note.what && each.place == note.place;
                                       });
    if (!is_recent) sentences.push_back(note.summary);
  }
  return sentences;
}

}  // namespace heddle::monitor
