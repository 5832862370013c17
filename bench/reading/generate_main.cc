// heddle-bench-generate: writes a synthetic recording of any size, to test the readers of
// recordings. Eight ranks on each host; all-reduces along rings of eight within a host and, in
// turn, across eight hosts; each host with its own clock, which has a large offset and drifts.
// Everything is derived from the arguments, so the expected results are known.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "base/nanos.h"
#include "events/recording.h"

namespace heddle::bench {
namespace {

using events::Algorithm;
using events::Direction;
using events::ElementType;
using events::Operation;

constexpr uint32_t kHostRanks = 8;
constexpr uint32_t kRingHosts = 8;
constexpr uint64_t kElements = 8 * 840;  // divisible by the size of any ring of up to eight
constexpr uint16_t kHeadingBytes = 24;
constexpr uint16_t kChannel = 2;
constexpr Nanos kStep = micros(200);
constexpr Nanos kCall = kStep * 16;
constexpr uint64_t kWorld = 1;

struct Arguments {
  std::string folder;
  uint32_t ranks = 64;
  uint64_t events = 100'000;
  double drift_ppm = 50;
};

// A pseudorandom value that depends only on the arguments, on every rank.
uint64_t chance(uint64_t a, uint64_t b, uint64_t c) {
  return mix_bits((a * 0x9e3779b97f4a7c15 + b) * 0x9e3779b97f4a7c15 + c);
}

// The ring of ranks that call together, within a host or across hosts.
struct Ring {
  uint64_t communicator = 0;
  uint32_t first = 0;
  uint32_t stride = 1;
  uint32_t size = 0;
  uint32_t place = 0;

  uint32_t rank_at(uint32_t at) const { return first + at % size * stride; }
  uint32_t next() const { return rank_at(place + 1); }
  uint32_t previous() const { return rank_at(place + size - 1); }
};

// Way 0 is within the host; the others are across hosts, by the last base-8 digit of the host, the
// next one, and so on.
Ring ring_of(uint32_t rank, uint32_t way, uint32_t ranks) {
  Ring ring;
  const uint32_t host = rank / kHostRanks;
  uint32_t hosts = 1;
  for (uint32_t i = 1; i < way; ++i) hosts *= kRingHosts;
  const uint32_t count = way == 0 ? ranks : ranks / kHostRanks;
  const uint32_t own = way == 0 ? rank : host;
  const uint32_t step = way == 0 ? 1 : hosts;
  ring.place = own / step % kRingHosts;
  const uint32_t first = own - ring.place * step;
  ring.size = std::min(kRingHosts, (count - first - 1) / step + 1);
  ring.first = way == 0 ? first : first * kHostRanks + rank % kHostRanks;
  ring.stride = way == 0 ? 1 : step * kHostRanks;
  ring.communicator = kWorld + 1 + (uint64_t{way} << 32) + ring.first;
  return ring;
}

uint32_t ways_of(uint32_t ranks) {
  uint32_t ways = 1;
  for (uint32_t hosts = ranks / kHostRanks; hosts > 1; hosts = (hosts - 1) / kRingHosts + 1) ++ways;
  return ways;
}

class Rank {
 public:
  Rank(const Arguments& arguments, uint32_t rank)
      : arguments_(arguments),
        rank_(rank),
        host_(rank / kHostRanks),
        ways_(ways_of(arguments.ranks)) {
    offset_ns_ = static_cast<int64_t>(chance(host_, 1, 1) % 1'000'000) * 1'000'000'000;
    const auto part = static_cast<double>(chance(host_, 2, 2) % 2001) / 1000 - 1;
    drift_ = part * arguments.drift_ppm * 1e-6;
  }

  // Errors: those of Recording::create().
  Result<void> write(uint32_t calls, uint64_t events) {
    auto recording =
        events::Recording::create({.directory = arguments_.folder,
                                   .most = Bytes{events * 32 + 512 * 1024},
                                   .level = events::RecordLevel::kMessages,
                                   .identity = {{"host", fmt::format("h{:05}", host_)},
                                                {"pid", std::to_string(1000 + rank_)},
                                                {"rank", std::to_string(rank_)},
                                                {"clock", fmt::format("boot {}", host_)},
                                                {"command", "a job that never ran"}}});
    if (!recording) return fail(recording.error());
    recorder_ = (*recording)->add_writer();
    open();
    for (uint32_t call = 1; call <= calls; ++call) make_call(call);
    recorder_.reset();
    // Use a name as the host would; else later recordings would search longer and longer for a free
    // name.
    const std::string name = fmt::format("h{:05}.{}.0.heddle", host_, 1000 + rank_);
    if (std::rename((*recording)->path().c_str(), (arguments_.folder + "/" + name).c_str()) == 0) {
      return {};
    }
    return fail(ErrorCode::kSystem, "cannot call a file " + name, std::strerror(errno),
                "choose another folder");
  }
  uint64_t written() const { return events_; }
  uint64_t sent_bytes() const { return sent_bytes_; }
  int64_t offset_ns() const { return offset_ns_; }
  double drift_ppm() const { return drift_ * 1e6; }

 private:
  // Two for each ring: to the next rank and to the previous one.
  uint32_t connection(uint32_t rank, uint32_t way, bool previous) const {
    return 1 + (rank * ways_ + way) * 2 + (previous ? 1 : 0);
  }

  // Consecutive addresses from 10.0.0.0.
  static uint64_t address_of(uint32_t rank) { return uint64_t{0xffff0a000000} + rank / kHostRanks; }

  template <typename Event>
  void put(Nanos at, Event event) {
    const auto drifted = std::llround(static_cast<double>(at.count) * drift_);
    event.time = {at.count + offset_ns_ + drifted};
    recorder_->on_any(event);
    ++events_;
  }

  void open() {
    put({}, events::EndpointOpened{
                {}, 0, address_of(rank_), static_cast<uint16_t>(20'000 + rank_ % 8)});
    put({}, events::CommunicatorMade{{}, kWorld, rank_, arguments_.ranks});
    for (uint32_t way = 0; way < ways_; ++way) {
      const Ring ring = ring_of(rank_, way, arguments_.ranks);
      put({}, events::CommunicatorMade{{}, ring.communicator, ring.place, ring.size});
      if (ring.size < 2) continue;
      for (const bool previous : {false, true}) {
        const uint32_t peer = previous ? ring.previous() : ring.next();
        const uint32_t own = connection(rank_, way, previous);
        put({}, events::ConnectionOpened{{},
                                         own,
                                         connection(peer, way, !previous),
                                         0,
                                         address_of(peer),
                                         static_cast<uint16_t>(20'000 + peer % 8),
                                         8});
        const uint32_t place = previous ? ring.place + ring.size - 1 : ring.place + 1;
        put({}, events::CommunicatorLinked{{}, ring.communicator, place % ring.size, own});
      }
    }
  }

  void make_call(uint32_t call) {
    const uint32_t way = call % ways_;
    const Ring ring = ring_of(rank_, way, arguments_.ranks);
    if (ring.size < 2) return;
    const Nanos begin = kCall * call;
    put(begin, events::CallMade{{},
                                ring.communicator,
                                call,
                                call / ways_,
                                Operation::kAllreduce,
                                ElementType::kFloat,
                                kElements,
                                0,
                                0});
    put(begin + nanos(700), events::CallStarted{{},
                                                ring.communicator,
                                                call,
                                                Operation::kAllreduce,
                                                Algorithm::kRing,
                                                kChannel,
                                                2,
                                                kHeadingBytes,
                                                128 << 10});
    put(begin + nanos(900), events::WaitBegun{{}, ring.communicator, call});
    const uint32_t steps = 2 * (ring.size - 1);
    for (uint32_t step = 0; step < steps; ++step) {
      move(ring, way, begin + micros(20) + kStep * step, call, step);
    }
    const Nanos end = begin + micros(20) + kStep * steps;
    put(end, events::CallEnded{{}, ring.communicator, call, true});
    put(end + nanos(300), events::WaitEnded{{}, ring.communicator, call});
  }

  // One message to the next rank, and one from the previous.
  void move(const Ring& ring, uint32_t way, Nanos begin, uint32_t call, uint32_t step) {
    const uint64_t payload = kElements / ring.size * 4;
    const uint64_t bytes = payload + (step == 0 ? kHeadingBytes : 0);
    const uint32_t sequence = call / ways_ * 2 * (ring.size - 1) + step;
    const Nanos came = begin + arrival(ring.previous(), call, step);
    const Nanos acknowledged = begin + arrival(rank_, call, step) + micros(10) +
                               nanos(static_cast<int64_t>(chance(rank_, call, step + 99) % 50'000));
    const events::MessageCompleted received = {
        {}, connection(rank_, way, true), kChannel, sequence, bytes, Direction::kReceived};
    const events::MessageCompleted sent = {
        {}, connection(rank_, way, false), kChannel, sequence, bytes, Direction::kSent};
    sent_bytes_ += payload;
    if (came <= acknowledged) {
      put(came, received);
      put(acknowledged, sent);
    } else {
      put(acknowledged, sent);
      put(came, received);
    }
  }

  // Time from the step's beginning to the arrival of the data of `sender`.
  static Nanos arrival(uint32_t sender, uint32_t call, uint32_t step) {
    return micros(5) + nanos(static_cast<int64_t>(chance(sender, call, step) % 100'000));
  }

  const Arguments& arguments_;
  const uint32_t rank_;
  const uint32_t host_;
  const uint32_t ways_;
  int64_t offset_ns_ = 0;
  double drift_ = 0;
  uint64_t events_ = 0;
  uint64_t sent_bytes_ = 0;
  std::unique_ptr<events::Recorder> recorder_;
};

// The number of calls that makes about this many events; rings of different ways may have different
// sizes.
uint32_t calls_for(const Arguments& arguments) {
  const uint32_t ways = ways_of(arguments.ranks);
  std::vector<uint64_t> events(ways);
  for (uint32_t rank = 0; rank < arguments.ranks; ++rank) {
    for (uint32_t way = 0; way < ways; ++way) {
      const uint32_t size = ring_of(rank, way, arguments.ranks).size;
      if (size > 1) events[way] += 5 + 4 * (size - 1);
    }
  }
  uint32_t calls = 0;
  for (uint64_t made = 0; made < arguments.events; made += events[calls % ways]) ++calls;
  return calls;
}

int generate(const Arguments& arguments) {
  const uint32_t calls = calls_for(arguments);
  uint64_t written = 0;
  uint64_t sent_bytes = 0;
  nlohmann::ordered_json clocks = nlohmann::ordered_json::array();
  for (uint32_t rank = 0; rank < arguments.ranks; ++rank) {
    Rank one(arguments, rank);
    if (Result<void> made = one.write(calls, 2 * arguments.events / arguments.ranks); !made) {
      fmt::print(stderr, "heddle-bench-generate: {}\n", made.error().message());
      return 2;
    }
    written += one.written();
    sent_bytes += one.sent_bytes();
    if (rank % kHostRanks == 0) {
      clocks.push_back({{"offset_ns", one.offset_ns()}, {"drift_ppm", one.drift_ppm()}});
    }
  }
  const nlohmann::ordered_json truth = {{"ranks", arguments.ranks},
                                        {"events", written},
                                        {"calls_a_rank", calls},
                                        {"sent_bytes", sent_bytes},
                                        {"clock_of_host", clocks}};
  fmt::print("{}\n", truth.dump());
  return 0;
}

}  // namespace
}  // namespace heddle::bench

int main(int argc, char** argv) {
  heddle::bench::Arguments arguments;
  CLI::App app("Writes the recording of a job that never ran.");
  app.add_option("folder", arguments.folder, "where to write it")->required();
  app.add_option("--ranks", arguments.ranks, "a multiple of 8")
      ->check(CLI::Range(8, 65'536))
      ->check([](const std::string& text) {
        return std::stoul(text) % heddle::bench::kHostRanks == 0 ? "" : "give a multiple of 8";
      });
  app.add_option("--events", arguments.events, "of all ranks, about");
  app.add_option("--drift-ppm", arguments.drift_ppm, "of the hosts' clocks, at most");
  CLI11_PARSE(app, argc, argv);
  return heddle::bench::generate(arguments);
}
