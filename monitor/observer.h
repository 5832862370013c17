// Observer: watches a job that is recorded, and says which faults it has by now.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/nanos.h"
#include "base/result.h"
#include "insight/party.h"
#include "monitor/alarms.h"
#include "monitor/live_diagnosis.h"
#include "monitor/live_traffic.h"
#include "monitor/rank_series.h"
#include "recordings/live_nodes.h"
#include "recordings/live_recording.h"

namespace heddle::monitor {

// A folder of recordings, and until when what is written there is seen here.
struct Heard {
  std::string folder;
  Nanos until;           // steady clock
  bool is_heard = true;  // false: its machine is lost
};

struct WatchedProcess {
  std::string name;
  std::string host;
  int64_t rank = -1;  // -1: unknown
  uint64_t events = 0;
  uint64_t missed_events = 0;
  int64_t last_at_ns = 0;  // of its newest event, since the job's beginning
  bool closed = false;     // it has ended in good order
  bool heard = true;
  RankFigures total;    // since the watch began
  Spread recent_calls;  // of the interval before this one
};

struct WatchState {
  std::vector<WatchedProcess> processes;
  std::vector<Alarm> lasting;
  std::vector<Alarm> past;
  std::vector<std::string> not_judged;
  std::vector<std::string> not_sampled;  // of machines
  std::vector<std::string> notes;        // what is no fault: LiveDiagnosis::notes()
  uint64_t alarms_raised = 0;
  uint64_t operations = 0;  // of the recent ones that slowness was judged by
  int64_t now_ns = 0;       // since the job's beginning
  int64_t began_realtime_ns = 0;
  bool over = false;  // all processes have ended, or were silent for long
  bool whole = true;  // nothing was missed
  std::shared_ptr<const TrafficInterval> traffic;  // of the last interval; null: none yet
};

class Observer {
 public:
  // `node_records`: folders of recordings of machines, beside those in the job's.
  explicit Observer(const std::vector<std::string>& folders,
                    const std::vector<std::string>& node_records = {});

  // Takes what was written since the last look, and judges it.
  std::vector<AlarmChange> look(Nanos now, const std::vector<Heard>& heard);

  WatchState state() const;
  // What each process did since the last call; by number, as in the state.
  SeriesInterval cut_series() { return series_.cut(now_ns_); }
  std::vector<Error> take_errors() { return recording_.take_errors(); }

 private:
  struct Process {
    std::string folder;
    insight::Party party;
    uint64_t events = 0;
    int64_t last_at_ns = 0;
    bool heard = true;
    uint64_t missed_events = 0;
  };
  void take(size_t file, const events::RecordedEvent& recorded, int64_t at_ns);
  void set_ends(const std::vector<Heard>& heard);
  void forget_what_cannot_end();
  Nanos alive_since_last(Nanos now, const std::vector<Heard>& heard) const;
  bool is_over(Nanos now, const std::vector<Heard>& heard) const;

  recordings::LiveRecording recording_;
  recordings::LiveNodes nodes_;
  LiveDiagnosis diagnosis_;
  RankSeries series_;
  LiveTraffic traffic_;
  std::vector<Process> processes_;
  uint64_t events_ = 0;
  int64_t last_at_ns_ = 0;  // of the newest event, since the job's beginning
  Nanos last_seen_;         // when an event was seen
  int64_t now_ns_ = 0;
  bool over_ = false;
};

}  // namespace heddle::monitor
