// Diagnosis: from a job's events to verdicts: which rank, host or link hangs or is slow, since
// when, by what evidence, and what to do. The classes are those of C4D (arXiv 2406.04594, section
// 3), and more; docs/explanation/diagnosis.md has the rules. A pure function of events.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "events/events.h"
#include "insight/party.h"

namespace heddle::insight {

enum class VerdictClass : uint8_t {
  kNonCommunicationHang,  // a rank never started the operation in which the others wait
  kCommunicationHang,     // all started an operation, not all finished it
  kMismatch,              // ranks called different operations, or wait for each other in a circle
  kNonCommunicationSlow,  // the others wait for a rank's computation
  kCommunicationSlow,     // data between two ranks, from one or to one is late
  kMixedSlow,             // both of these at one rank and its host
  kDegradation,           // it gets slower bit by bit
  kFlapping,              // paths fail together and come back, again and again
  kPathFailure,           // a way through the fabric does not work; others carry the data
  kFabricCollision,       // flows share a link of the fabric, and are late while both are active
  kLoadImbalance,         // ranks have unequal work by design: no fault
};
const char* name_of(VerdictClass verdict);

enum class PlaceKind : uint8_t {
  kRank,
  kSenderNic,    // data from one host is late, to whichever host
  kReceiverNic,  // data to one host is late, from whichever host
  kNic,          // both
  kLink,         // between two ranks: the sender's NIC, the fabric's path or the receiver's NIC
  kRoute,        // routers of the fabric that paths pass
  kGroup,        // several ranks
  kJob,
};
const char* name_of(PlaceKind place);

struct Place {
  PlaceKind kind = PlaceKind::kJob;
  std::vector<uint32_t> processes;  // of a link: sender, then receiver; sorted else
  std::string host;                 // of a host or a NIC; of a route its routers
  bool operator==(const Place&) const = default;
};

struct Verdict {
  VerdictClass what = VerdictClass::kNonCommunicationSlow;
  Place place;
  int64_t since_ns = 0;   // since the job's beginning
  int64_t until_ns = -1;  // its end; -1: it lasts
  double confidence = 0;  // 0 to 1
  // Share of the job's time that it costs, from since_ns on; negative: unknown.
  double cost = -1;
  std::string summary;                // one sentence
  std::vector<std::string> evidence;  // figures that a person can check, a sentence each
  std::string action;
};

// How regular a communicator's collectives are. A step is what they repeat.
struct Rhythm {
  uint64_t communicator = 0;
  size_t operations_a_step = 0;  // 0: no period was found
  double agreement = 0;          // share of the calls that are as one period before; 0 to 1
  size_t steps = 0;              // that were measured
  int64_t step_ns = 0;           // median
  double step_spread = 0;        // standard deviation as the median absolute deviation, to step_ns
  // Of the time of a step; since_ns -1: none stands out. Errors: standard errors between both.
  struct Change {
    int64_t since_ns = -1;
    int64_t before_ns = 0;
    int64_t after_ns = 0;
    double errors = 0;
  };
  Change change;

  // Steps of one kind, and about equally long.
  bool regular() const;
};

// How late the data of a communicator's calls was beside the usual link's.
struct DelayMatrix {
  uint64_t communicator = 0;
  std::vector<uint32_t> processes;  // by rank
  // Seconds a call, by sender and receiver; NaN: nothing was measured between these.
  std::vector<std::vector<double>> seconds;
};

struct Diagnosis {
  std::vector<Verdict> verdicts;  // faults, the most severe first
  std::vector<Verdict> notes;     // no faults: unequal work by design, slower steps of all ranks
  std::vector<Rhythm> rhythms;    // by communicator
  // Of communicators whose messages between hosts were measured, up to params::kMostDelayRanks.
  std::vector<DelayMatrix> delays;
  std::vector<Party> parties;  // by process number
  // What could not be judged, and why, a sentence each.
  std::vector<std::string> not_judged;
  uint64_t operations = 0;  // completed ones that were compared
  int64_t until_ns = 0;     // end of the observation, since the job's beginning

  // Nothing could be judged: no verdict does not mean that the job is healthy.
  bool too_little() const { return operations == 0 && verdicts.empty(); }
};

// "rank 3 on h1", "NIC of h2 (sending)", "link from rank 0 on h0 to rank 1 on h1".
std::string place_text(const Diagnosis& diagnosis, const Place& place);

struct DiagnosisOptions {
  int64_t since_ns = INT64_MIN;  // operations that ended earlier are not judged
  // The job is known to run at this time: a live recording. Else the last event is the end.
  int64_t alive_until_ns = INT64_MIN;
  // Parts of ranks in operations that are kept, about 300 bytes each. Range: 1,000 to 10,000,000.
  size_t most_parts = 1'000'000;
  // And as many for each process where these are more: of 10,000 ranks a call is 10,000 parts.
  // Range: 0 to 1,000.
  size_t parts_a_process = 0;
  // Standard errors by which a slow rank's or link's mean lies above the others', at least: a bench
  // lowers it to see what that costs. 0: kLeastErrors of diagnosis/params.h. Range 2 to 20.
  double least_errors = 0;
};

// A process's file, as far as it is not in its events.
struct FileEnd {
  bool closed = true;    // the process ended in good order
  bool complete = true;  // no events were dropped or damaged
  bool heard = true;     // false: what it writes cannot be seen any more, so silence says nothing
  // Of its events' times on the job's one clock, at most; negative: unknown.
  int64_t clock_error_ns = 0;
};

// Takes the events of all processes in order of time. Of a job that still runs, diagnose() may be
// called again and again while events are added. One thread may use it at a time.
class DiagnosisBuilder {
 public:
  explicit DiagnosisBuilder(const DiagnosisOptions& options = {});
  ~DiagnosisBuilder();

  uint32_t add_process(const Identity& identity, const FileEnd& end = {});
  // `at_ns`: the event's time since the beginning of the job.
  void add(uint32_t process, const events::AnyEvent& event, int64_t at_ns);
  // What is known of a process's file by now.
  void set_end(uint32_t process, const FileEnd& end);
  // Events before this time are missing: operations that began then are not judged.
  void set_whole_from(int64_t at_ns);

  Diagnosis finish() const;
  Diagnosis diagnose(int64_t since_ns, int64_t alive_until_ns) const;
  // Adds to a diagnosis of all that is kept what finish() adds, of the communicators with the most
  // calls: rhythms, and notes of unequal lengths and of steps that became slower for good, where no
  // verdict explains them. It is bounded for a job that is looked at now and then while it runs.
  void add_live_rhythms(Diagnosis& diagnosis) const;

 private:
  class Body;
  std::unique_ptr<Body> body_;
};

}  // namespace heddle::insight
