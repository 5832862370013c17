// RingJobs: events of ranks that compute and reduce in rings, for tests of the diagnosis: how long
// each computes and how slow each link is are functions of the test.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "events/events.h"
#include "insight/diagnosis.h"

namespace heddle::insight {

// A communicator of one rank a host, and its calls. Times are ns.
struct Ring {
  uint64_t communicator = 9;
  uint32_t first_process = 0;  // the ranks are this one and those behind it
  uint32_t ranks = 4;
  uint32_t calls = 0;
  int64_t message_ns = 1'000'000;  // from one rank to the next
  // Of a rank before a call.
  std::function<int64_t(uint32_t rank, uint32_t call)> computes = [](uint32_t, uint32_t) {
    return int64_t{20'000'000};
  };
  // By which a message from this rank to the next one takes longer that begins at this time.
  std::function<double(uint32_t from, int64_t at)> slowness = [](uint32_t, int64_t) { return 1.0; };
  std::function<uint64_t(uint32_t call)> count = [](uint32_t) { return uint64_t{100}; };
  // Of a call, in place of message_ns; null: that.
  std::function<int64_t(uint32_t call)> message_of;
};

class RingJobs {
 public:
  struct Timed {
    int64_t at = 0;
    uint32_t process = 0;
    events::AnyEvent event;
  };

  // A process is on the host of its own number, "h3".
  explicit RingJobs(uint32_t processes) : processes_(processes) {}

  // Runs the ring's calls from time 0 on. Returns the times in which all ranks were in one.
  std::vector<std::pair<int64_t, int64_t>> run(const Ring& ring);
  // The route of a connection's path, hop by hop.
  void trace(uint32_t from, uint32_t to, uint16_t path, const std::vector<uint64_t>& routers);
  // Adds processes 0 to `processes` - 1, each on the host of its number.
  static void add_processes(uint32_t processes, DiagnosisBuilder& builder);
  std::vector<Timed> in_order() const;
  // What the events say.
  Diagnosis diagnose() const;

 private:
  void link_all(const Ring& ring);
  void transfer(const Ring& ring, uint32_t call, std::vector<int64_t>& now);
  template <typename Event>
  void emit(uint32_t process, int64_t at, const Event& event) {
    events_.push_back({at, process, event});
  }

  const uint32_t processes_;
  std::vector<Timed> events_;
};

}  // namespace heddle::insight
