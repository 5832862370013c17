// Report of an acceptance test: stages in the order in which they ran, and in each one rows with a
// figure, what was expected of it, the grade and what to do. Plain data: documents.h writes it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/finding.h"

namespace heddle::acceptance {

// Keeps the order in which fields are set.
using Json = nlohmann::ordered_json;

struct Row {
  std::string check;     // "goodput", "MTU": the same word for the same check
  std::string where;     // "h0 to h2", "leaf0 - spine1", "4 hosts"
  std::string measured;  // with its unit
  std::string expected;  // likewise; empty: nothing is expected of it
  Grade grade = Grade::kOk;
  std::string todo;  // kWarn, kFail
};

// Shown for information: it has no expectation that it could pass.
inline bool is_information(const Row& row) {
  return row.grade == Grade::kOk && row.expected.empty();
}

enum class StageOutcome : uint8_t {
  kPassed,       // also with warnings
  kFailed,       // a row failed
  kBroken,       // it could not measure
  kInterrupted,  // by a signal, with the rows so far
  kNotRun,       // an earlier one did not pass
};
const char* name_of(StageOutcome outcome);  // "passed", "not run"
inline constexpr StageOutcome kStageOutcomes[] = {StageOutcome::kPassed, StageOutcome::kFailed,
                                                  StageOutcome::kBroken, StageOutcome::kInterrupted,
                                                  StageOutcome::kNotRun};

// The highest and the mean rate of one direction of a link while stages ran, and what it lost.
struct LinkLoad {
  double peak_bits_per_s = 0;
  uint64_t bytes = 0;
  uint64_t dropped = 0;  // by a full queue
  uint64_t errors = 0;   // lost or damaged on the cable
  uint64_t marked = 0;   // packets with ECN's mark of congestion, where links count them

  // Of another time.
  LinkLoad& operator+=(const LinkLoad& more) {
    peak_bits_per_s = std::max(peak_bits_per_s, more.peak_bits_per_s);
    bytes += more.bytes;
    dropped += more.dropped;
    errors += more.errors;
    marked += more.marked;
    return *this;
  }
};

struct BothLoads {
  LinkLoad forward;  // from a link's `a` to its `b`
  LinkLoad backward;
};

struct StageReport {
  std::string name;  // "reach", as --stage takes it
  std::string title;
  StageOutcome outcome = StageOutcome::kNotRun;
  std::string reason;   // kBroken, kNotRun
  std::string started;  // as Report::started; empty: it has not begun
  double seconds = 0;
  std::vector<Row> rows;
  std::vector<std::string> commands;  // that a user can repeat
  std::vector<BothLoads> loads;       // by link, while it ran
  Json data = Json::object();         // raw results of the stage, for charts
};

struct LinkReport {
  std::string a;
  std::string b;
  std::string label;
  double rate_bits_per_s = 0;  // 0: unlimited
  LinkLoad forward;            // from a to b
  LinkLoad backward;
  bool named = false;   // a row that is not fine names it
  bool counted = true;  // false: nothing reads its counters, and its loads are 0
};

struct NodeReport {
  std::string name;
  uint32_t tier = 0;  // 0: hosts
  bool named = false;
};

struct Headline {
  std::string label;
  std::string value;
  std::string note;
};

struct Report {
  std::string fabric;  // the lab's name
  std::string topology;
  bool emulated = true;
  std::string started;   // "2026-11-25 18:45:19 UTC"
  int64_t start_ms = 0;  // the same, since 1970
  double seconds = 0;
  std::string depth;            // "quick", "normal", "full"
  std::string coverage;         // "ring", "sample", "full": the pairs of hosts that are measured
  int signal = 0;               // that ended it
  bool complete = true;         // false: it still runs, or was ended before its last stage
  Json asked = Json::object();  // the caller's options, which a test that goes on with it needs
  std::vector<Headline> headlines;
  std::vector<StageReport> stages;
  std::vector<NodeReport> nodes;
  std::vector<LinkReport> links;
  std::vector<std::pair<std::string, std::string>> versions;  // of programs and this machine
  std::vector<std::string> notes;
  double others_busy_share = 0;  // processors' time that other programs used meanwhile
};

// kFail if a row failed or a stage could not measure, kWarn if one is a warning.
Grade grade_of(const StageReport& stage);
// Of all stages that ran.
Grade grade_of(const Report& report);
// The stage that runs only after a failed check.
inline constexpr const char* kRestStage = "rest";

// Whether any stage but the rest could not measure.
bool is_broken(const Report& report);
// Without those that are shown for information.
size_t count_rows(const Report& report, Grade grade);
size_t count_information(const Report& report);

}  // namespace heddle::acceptance
