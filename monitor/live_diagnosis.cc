// See live_diagnosis.h.
#include "monitor/live_diagnosis.h"

#include "monitor/params.h"

namespace heddle::monitor {

LiveDiagnosis::LiveDiagnosis() : builder_({.most_parts = params::kMostParts}) {}

std::vector<AlarmChange> LiveDiagnosis::look(int64_t alive_until_ns) {
  recent_ = builder_.diagnose(alive_until_ns - params::kRecent.count, alive_until_ns);
  const bool due = alive_until_ns >= whole_due_ns_;
  if (due) {
    whole_ = builder_.diagnose(INT64_MIN, alive_until_ns);
    whole_due_ns_ = alive_until_ns + params::kWholeEvery.count;
    // Both look at all operations for hangs: until the next one this is the older look.
    std::erase_if(whole_.verdicts, [](const insight::Verdict& each) {
      return each.what == insight::VerdictClass::kNonCommunicationHang ||
             each.what == insight::VerdictClass::kCommunicationHang;
    });
  }
  return alarms_.look({{&recent_}, {&whole_, due}}, alive_until_ns);
}

}  // namespace heddle::monitor
