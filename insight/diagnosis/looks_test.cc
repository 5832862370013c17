// Looks at a job that runs, one after the other while events arrive: each finds to the last digit
// what a diagnosis finds that is computed from scratch.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <ios>
#include <ostream>
#include <sstream>
#include <string>
#include <vector>

#include "insight/diagnosis.h"
#include "insight/testing/ring_jobs.h"

namespace heddle::insight {
namespace {

using Events = std::vector<RingJobs::Timed>;

constexpr uint64_t kWorld = 9;
constexpr uint32_t kRanks = 4;
constexpr int64_t kMs = 1'000'000;
constexpr int64_t kLookNs = 1'500 * kMs;

void print(const std::vector<Verdict>& verdicts, std::ostream& out) {
  for (const Verdict& each : verdicts) {
    out << name_of(each.what) << " at " << name_of(each.place.kind) << ' ' << each.place.host;
    for (const uint32_t process : each.place.processes) out << ' ' << process;
    out << ", " << each.since_ns << " to " << each.until_ns << ", " << each.confidence << ' '
        << each.cost << '\n'
        << each.summary << '\n';
    for (const std::string& sentence : each.evidence) out << sentence << '\n';
    out << each.action << '\n';
  }
}

void print(const Diagnosis& diagnosis, std::ostream& out) {
  out << diagnosis.operations << " until " << diagnosis.until_ns << '\n';
  print(diagnosis.verdicts, out);
  print(diagnosis.notes, out);
  for (const Rhythm& each : diagnosis.rhythms) {
    out << each.operations_a_step << ' ' << each.agreement << ' ' << each.steps << ' '
        << each.step_ns << ' ' << each.step_spread << ' ' << each.change.since_ns << '\n';
  }
  for (const DelayMatrix& each : diagnosis.delays) {
    for (const std::vector<double>& row : each.seconds) {
      for (const double seconds : row) out << seconds << ' ';
    }
  }
  for (const std::string& sentence : diagnosis.not_judged) out << sentence << '\n';
}

class LooksTest : public ::testing::Test {
 protected:
  void add(int64_t at, uint32_t process, const events::AnyEvent& event) {
    events_.push_back({at, process, event});
  }

  // Looks at all of the job, at its last 8 s and at its last 3 s.
  std::string look(const DiagnosisBuilder& builder, int64_t now) {
    std::ostringstream out;
    out << std::hexfloat;
    for (const int64_t since : {INT64_MIN, now - 8'000 * kMs, now - 3'000 * kMs}) {
      const Diagnosis diagnosis = builder.diagnose(since, now);
      verdicts_ += diagnosis.verdicts.size();
      delays_ += diagnosis.delays.size();
      print(diagnosis, out);
    }
    print(builder.finish(), out);
    return out.str();
  }

  void expect_looks_from_scratch(const DiagnosisOptions& options = {}) {
    std::stable_sort(events_.begin(), events_.end(),
                     [](const auto& one, const auto& other) { return one.at < other.at; });
    DiagnosisBuilder followed(options);
    RingJobs::add_processes(kRanks, followed);
    size_t next = 0;
    for (int64_t now = kLookNs; next < events_.size(); now += kLookNs) {
      for (; next < events_.size() && events_[next].at <= now; ++next) {
        followed.add(events_[next].process, events_[next].event, events_[next].at);
      }
      DiagnosisBuilder fresh(options);
      RingJobs::add_processes(kRanks, fresh);
      for (size_t i = 0; i < next; ++i) {
        fresh.add(events_[i].process, events_[i].event, events_[i].at);
      }
      ASSERT_EQ(look(followed, now), look(fresh, now)) << "at " << now << " ns";
    }
  }

  Events events_;
  size_t verdicts_ = 0;  // of all looks
  size_t delays_ = 0;    // the same: matrices
};

Ring faulty_ring() {
  Ring ring;
  ring.calls = 500;  // 15 s
  ring.computes = [](uint32_t rank, uint32_t call) {
    const int64_t usual = 20 * kMs + (rank * 7 + call * 13) % 11 * (kMs / 50);
    return rank == 1 && call > 150 ? usual * 3 / 2 : usual;
  };
  ring.slowness = [](uint32_t from, int64_t at) {
    return from == 2 && at > 4'000 * kMs ? 3.0 : 1.0;
  };
  return ring;
}

TEST_F(LooksTest, ASlowRankAndASlowLinkAreSeenAsFromScratch) {
  RingJobs job(kRanks);
  job.run(faulty_ring());
  events_ = job.in_order();
  expect_looks_from_scratch();
  EXPECT_GT(verdicts_, 0u);
  EXPECT_GT(delays_, 0u);
}

TEST_F(LooksTest, OperationsThatAreNoLongerKeptAreNotSeen) {
  RingJobs job(kRanks);
  job.run(faulty_ring());
  events_ = job.in_order();
  expect_looks_from_scratch({.most_parts = 200 * kRanks});
  EXPECT_GT(verdicts_, 0u);
}

// A ring of NCCL's: rank 1's data is late, which its proxy reports `late_ns` after the call's end.
class ProxyLooksTest : public LooksTest {
 protected:
  void run(uint32_t calls, int64_t late_ns) {
    for (uint32_t rank = 0; rank < kRanks; ++rank) {
      add(0, rank, events::CommunicatorMade{{}, kWorld, rank, kRanks});
    }
    for (uint32_t call = 1; call <= calls; ++call) {
      for (uint32_t rank = 0; rank < kRanks; ++rank) begin(rank, call);
      now_ += 10 * kMs;
      for (uint32_t rank = 0; rank < kRanks; ++rank) {
        add(now_, rank, events::CallEnded{{}, kWorld, call, true});
        report(rank, call, now_ + late_ns);
      }
    }
  }
  // Each rank waits for the call from this time on, some longer than others.
  void wait_from(int64_t at, uint32_t call) {
    for (uint32_t rank = 0; rank < kRanks; ++rank) {
      add(at, rank, events::WaitBegun{{}, kWorld, call});
      add(at + (rank + 1) * 3 * kMs, rank, events::WaitEnded{{}, kWorld, call});
    }
  }

  int64_t now_ = 0;

 private:
  void begin(uint32_t rank, uint32_t call) {
    const int64_t at = now_ + 20 * kMs + (rank == 3 ? 15 * kMs : 0);
    add(at, rank,
        events::CallMade{{},
                         kWorld,
                         call,
                         call,
                         events::Operation::kAllreduce,
                         events::ElementType::kFloat,
                         100,
                         0,
                         0});
    events::CallStarted started{{}, kWorld, call};
    started.operation = events::Operation::kAllreduce;
    started.algorithm = events::Algorithm::kRing;
    started.protocol = events::Protocol::kSimple;
    add(at, rank, started);
    if (rank + 1 == kRanks) now_ = at;
  }
  void report(uint32_t rank, uint32_t call, int64_t at) {
    events::ProxyOp proxy{{}, kWorld, call};
    proxy.rank = rank;
    proxy.peer = (rank + 1) % kRanks;
    proxy.direction = events::Direction::kSent;
    proxy.steps = 2;
    proxy.bytes = 4'000;
    proxy.network_wait = millis(rank == 1 ? 8 : 2);
    add(at, rank, proxy);
  }
};

// Looks come between the end of a call and its proxies' events.
TEST_F(ProxyLooksTest, WhatProxiesReportAfterTheEndOfACallIsSeen) {
  run(300, 2'000 * kMs);
  expect_looks_from_scratch();
  EXPECT_GT(delays_, 0u);
  EXPECT_GT(verdicts_, 0u);
}

// A rank's computation is then counted without its waits, in the calls before as well.
TEST_F(ProxyLooksTest, WaitsThatAreFirstRecordedLateAreSeen) {
  run(300, 0);
  wait_from(now_ / 2, 150);
  expect_looks_from_scratch();
  EXPECT_GT(verdicts_, 0u);
}

}  // namespace
}  // namespace heddle::insight
