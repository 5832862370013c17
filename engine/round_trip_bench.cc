// CPU cost per one-way message (half a round trip), both sides included. One thread drives both
// ends over UDP on the loopback, so nothing waits: post, send, receive, complete. The time includes
// system calls; for user space only, run it under callgrind:
//   valgrind --tool=callgrind build/release/bin/engine_bench --benchmark_filter=half_round_trip/64
#include <benchmark/benchmark.h>

#include <array>
#include <vector>

#include "engine/endpoint.h"

namespace heddle::engine {
namespace {

constexpr Nanos kPatience = seconds(5);
constexpr int kAhead = 4;  // receives posted ahead on each side

struct Side {
  std::unique_ptr<Endpoint> endpoint;
  Connection connection = 0;
  std::vector<std::byte> bytes;
  Memory memory;
  std::array<Operation, kAhead> receives{};
  Operation sent;
  uint64_t next = 0;

  void post_receive(size_t at) {
    receives[at] = endpoint->receive(connection, 0, memory.slice(0, bytes.size())).value();
  }
  void send() { sent = endpoint->send(connection, 0, memory.slice(0, bytes.size())).value(); }
  bool take() {
    const size_t at = next++ % kAhead;
    const bool ok = endpoint->wait(receives[at], kPatience).ok;
    post_receive(at);
    return ok;
  }
};

std::unique_ptr<Endpoint> open_on_loopback(bool accept) {
  Options options;
  options.transport.accept = accept;
  options.spin = Spin::kAlways;
  return std::move(Endpoint::open({.bind = "127.0.0.1"}, options)).value();
}

void set_up(Side& near, Side& far, size_t message_bytes) {
  near.endpoint = open_on_loopback(false);
  far.endpoint = open_on_loopback(true);
  near.connection = near.endpoint->connect(far.endpoint->local_address()).value();
  static_cast<void>(near.endpoint->wait_open(near.connection, kPatience));
  far.connection = far.endpoint->accept(kPatience).value();
  for (Side* side : {&near, &far}) {
    side->bytes.resize(message_bytes);
    side->memory = side->endpoint->register_memory(side->bytes.data(), message_bytes).value();
    for (size_t i = 0; i < kAhead; ++i) side->post_receive(i);
  }
}

void half_round_trip(benchmark::State& state) {
  Side near;
  Side far;
  set_up(near, far, static_cast<size_t>(state.range(0)));
  Side* from = &near;
  Side* to = &far;
  for (auto _ : state) {
    from->send();
    if (!to->take()) {
      state.SkipWithError("a message did not arrive");
      break;
    }
    from->endpoint->forget(from->sent);
    std::swap(from, to);
  }
}
BENCHMARK(half_round_trip)->Arg(64)->Arg(4096);

}  // namespace
}  // namespace heddle::engine
