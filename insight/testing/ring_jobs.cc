// See ring_jobs.h.
#include "insight/testing/ring_jobs.h"

#include <algorithm>
#include <string>

namespace heddle::insight {
namespace {

using events::Operation;

constexpr uint64_t kBytes = 100'000;  // of a message

uint32_t connection_to(uint32_t rank) { return rank + 1; }

}  // namespace

void RingJobs::link_all(const Ring& ring) {
  for (uint32_t rank = 0; rank < ring.ranks; ++rank) {
    const uint32_t process = ring.first_process + rank;
    emit(process, 0, events::CommunicatorMade{{}, ring.communicator, rank, ring.ranks});
    for (uint32_t peer = 0; peer < ring.ranks; ++peer) {
      if (peer == rank) continue;
      emit(process, 0,
           events::CommunicatorLinked{{}, ring.communicator, peer, connection_to(peer)});
    }
  }
}

// Each rank sends to the next one what it received in the round before. `now` becomes each rank's
// end.
void RingJobs::transfer(const Ring& ring, uint32_t call, std::vector<int64_t>& now) {
  const int64_t message_ns = ring.message_of ? ring.message_of(call) : ring.message_ns;
  std::vector<int64_t> ready = now;
  std::vector<int64_t> last = now;
  for (uint32_t round = 0; round < 2 * (ring.ranks - 1); ++round) {
    std::vector<int64_t> next(ring.ranks);
    for (uint32_t from = 0; from < ring.ranks; ++from) {
      const uint32_t to = (from + 1) % ring.ranks;
      const int64_t begin = std::max(ready[from], last[to]);
      next[to] = begin +
                 static_cast<int64_t>(static_cast<double>(message_ns) * ring.slowness(from, begin));
      emit(ring.first_process + to, next[to],
           events::MessageCompleted{
               {}, connection_to(from), 2, 0, kBytes, events::Direction::kReceived});
    }
    ready = last = next;
  }
  now = last;
  for (uint32_t rank = 0; rank < ring.ranks; ++rank) {
    const uint32_t process = ring.first_process + rank;
    emit(process, now[rank], events::WaitEnded{{}, ring.communicator, call});
    emit(process, now[rank], events::CallEnded{{}, ring.communicator, call, true});
  }
}

std::vector<std::pair<int64_t, int64_t>> RingJobs::run(const Ring& ring) {
  link_all(ring);
  std::vector<std::pair<int64_t, int64_t>> busy;
  std::vector<int64_t> now(ring.ranks);
  for (uint32_t call = 1; call <= ring.calls; ++call) {
    for (uint32_t rank = 0; rank < ring.ranks; ++rank) {
      const uint32_t process = ring.first_process + rank;
      now[rank] += ring.computes(rank, call);
      emit(process, now[rank],
           events::CallMade{{},
                            ring.communicator,
                            call,
                            call,
                            Operation::kAllreduce,
                            events::ElementType::kFloat,
                            ring.count(call),
                            0,
                            0});
      emit(process, now[rank],
           events::CallStarted{{},
                               ring.communicator,
                               call,
                               Operation::kAllreduce,
                               events::Algorithm::kRing,
                               2,
                               2,
                               24,
                               128 << 10});
      emit(process, now[rank], events::WaitBegun{{}, ring.communicator, call});
    }
    const int64_t due = *std::max_element(now.begin(), now.end());
    transfer(ring, call, now);
    busy.emplace_back(due, *std::max_element(now.begin(), now.end()));
  }
  return busy;
}

void RingJobs::trace(uint32_t from, uint32_t to, uint16_t path,
                     const std::vector<uint64_t>& routers) {
  const auto hops = static_cast<uint8_t>(routers.size());
  for (uint8_t hop = 1; hop <= hops; ++hop) {
    emit(from, 1, events::PathTraced{{}, connection_to(to), path, hop, hops, 0, routers[hop - 1u]});
  }
}

void RingJobs::add_processes(uint32_t processes, DiagnosisBuilder& builder) {
  for (uint32_t process = 0; process < processes; ++process) {
    const std::string number = std::to_string(process);
    builder.add_process({{"host", "h" + number}, {"rank", number}});
  }
}

std::vector<RingJobs::Timed> RingJobs::in_order() const {
  std::vector<Timed> sorted = events_;
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Timed& a, const Timed& b) { return a.at < b.at; });
  return sorted;
}

Diagnosis RingJobs::diagnose() const {
  DiagnosisBuilder builder;
  add_processes(processes_, builder);
  for (const Timed& each : in_order()) builder.add(each.process, each.event, each.at);
  return builder.finish();
}

}  // namespace heddle::insight
