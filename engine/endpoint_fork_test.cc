// A child of fork() calls every function of an endpoint whose lock a thread of the parent held at
// the fork. Every call returns at once.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <functional>
#include <future>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "engine/testing/endpoint_pair.h"
#include "events/events.h"

namespace heddle::engine {
namespace {

// A sink that blocks its caller, which holds the endpoint's lock, until the door is opened.
class ClosedDoor final : public events::EachSink<ClosedDoor> {
 public:
  events::KindSet wanted() const override {
    events::KindSet marks;
    marks.add(events::EventKind::kMark);
    return marks;
  }
  template <typename Event>
  void on_any(const Event&) {
    inside_.set_value();
    opened_.get_future().wait();
  }
  void wait_for_somebody() { inside_.get_future().wait(); }
  void open() { opened_.set_value(); }

 private:
  std::promise<void> inside_;
  std::promise<void> opened_;
};

struct Call {
  const char* name;
  std::function<bool(Endpoint&)> is_refused;
};

template <typename Value>
bool is_closed(const Result<Value>& result) {
  return !result && result.error().code == ErrorCode::kClosed;
}

bool is_closed(const Outcome& outcome) {
  return outcome.done && !outcome.ok && outcome.error == ErrorCode::kClosed;
}

// Longer than the watchdog: a call that waits this long has failed.
constexpr Nanos kLong = seconds(1000);

std::vector<Call> posting_calls(const EndpointPair& pair, const Operation& sent) {
  const Connection to = pair.to_server;
  const transport::Address peer = pair.client_end->peer_address();
  static char byte = 0;
  return {
      {"connect", [=](Endpoint& it) { return is_closed(it.connect(peer)); }},
      {"connect", [](Endpoint& it) { return is_closed(it.connect("127.0.0.1", 9)); }},
      {"wait_open", [=](Endpoint& it) { return is_closed(it.wait_open(to, kLong)); }},
      {"accept", [](Endpoint& it) { return !it.accept(kLong); }},
      {"take_accepted", [](Endpoint& it) { return !it.take_accepted(); }},
      {"status", [=](Endpoint& it) { return it.status(to).state == ConnectionState::kClosed; }},
      {"fix_paths", [=](Endpoint& it) { return is_closed(it.fix_paths(to, {})); }},
      {"find_routes", [=](Endpoint& it) { return is_closed(it.find_routes(to)); }},
      {"routes", [=](Endpoint& it) { return !it.routes(to); }},
      {"set_keys", [](Endpoint& it) { return is_closed(it.set_keys({})); }},
      {"register_memory", [](Endpoint& it) { return is_closed(it.register_memory(&byte, 1)); }},
      {"send", [=](Endpoint& it) { return is_closed(it.send(to, 0, &byte, 1)); }},
      {"send", [=](Endpoint& it) { return is_closed(it.send(to, 0, transport::Payload{})); }},
      {"receive", [=](Endpoint& it) { return is_closed(it.receive(to, 0, &byte, 1)); }},
      {"receive", [=](Endpoint& it) { return is_closed(it.receive(to, 0, transport::Payload{})); }},
      {"Batch", [](Endpoint& it) { return Endpoint::Batch(it), true; }},
      {"test", [=](Endpoint& it) { return is_closed(it.test(sent)); }},
      {"peek", [=](Endpoint& it) { return is_closed(it.peek(sent)); }},
      {"wait", [=](Endpoint& it) { return is_closed(it.wait(sent, kLong)); }},
      {"cancel", [=](Endpoint& it) { return it.cancel(sent), true; }},
      {"fill_at_once", [=](Endpoint& it) { return it.fill_at_once(sent), true; }},
      {"forget", [=](Endpoint& it) { return it.forget(sent), true; }},
      {"begin_close", [=](Endpoint& it) { return it.begin_close(to), true; }},
      {"close", [=](Endpoint& it) { return is_closed(it.close(to, kLong)); }},
      {"abort", [=](Endpoint& it) { return it.abort(to), true; }},
  };
}

std::vector<Call> other_calls(const EndpointPair& pair) {
  const Connection to = pair.to_server;
  return {
      {"progress", [](Endpoint& it) { return !it.progress(kLong); }},
      {"interrupt", [](Endpoint& it) { return it.interrupt(), true; }},
      {"take_changes", [](Endpoint& it) { return !it.take_changes(); }},
      {"turn", [](Endpoint& it) { return it.turn() == Nanos::never(); }},
      {"helper_turn", [](Endpoint& it) { return it.helper_turn() == Nanos::never(); }},
      {"observed", [](Endpoint& it) { return it.observed().has(events::EventKind::kMark); }},
      {"observe", [](Endpoint& it) { return it.observe(events::Mark{}), true; }},
      {"set_poll_source", [](Endpoint& it) { return it.set_poll_source(nullptr), true; }},
      {"wake_descriptor", [](Endpoint& it) { return it.wake_descriptor(), true; }},
      {"now", [](Endpoint& it) { return it.now() > Nanos{}; }},
      {"burst_payload_bytes", [](Endpoint& it) { return it.burst_payload_bytes(), true; }},
      {"local_address", [](Endpoint& it) { return it.local_address(), true; }},
      {"local_nics", [](Endpoint& it) { return !it.local_nics().empty(); }},
      {"capabilities", [](Endpoint& it) { return it.capabilities().max_paths > 0; }},
      {"source_port", [=](Endpoint& it) { return it.source_port(to, 0, 0) == 0; }},
      {"statistics", [](Endpoint& it) { return it.statistics(), true; }},
      {"statistics", [=](Endpoint& it) { return !it.statistics(to); }},
      {"path_statistics", [=](Endpoint& it) { return it.path_statistics(to).empty(); }},
      {"datapath_statistics", [](Endpoint& it) { return it.datapath_statistics(), true; }},
      {"driver_statistics", [](Endpoint& it) { return it.driver_statistics(), true; }},
      {"bytes_held", [](Endpoint& it) { return it.bytes_held() == 0; }},
  };
}

struct ChildEnd {
  std::string failed;  // the name of the call that hung or was not refused; empty: none
  bool hung = false;
};

ChildEnd run_in_child(const std::vector<Call>& calls, EndpointPair& pair, Memory& memory) {
  auto* const at = static_cast<std::atomic<size_t>*>(
      mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  const pid_t child = fork();
  if (child == 0) {
    alarm(10);
    for (const Call& call : calls) {
      if (!call.is_refused(*pair.client)) _exit(1);
      ++*at;
    }
    memory.reset();
    pair.client.reset();
    pair.server.reset();
    // The child can open an endpoint of its own.
    EndpointPair own = make_endpoints({});
    _exit(own.client->connect(own.client_end->peer_address()) ? 0 : 2);
  }
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  const size_t reached = at->load();
  munmap(at, 4096);
  if (status == 0) return {};
  return {reached < calls.size() ? calls[reached].name : "the end of its parent's endpoints",
          WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM};
}

// With AddressSanitizer a child hung in one of 16 runs, perhaps for a lock of its allocator that
// another thread held at the fork: of three children one must not hang then. The endpoint's lock,
// which the test is about, is held for every child, so that a call that waits for it fails all.
std::string failed_in_child(const std::vector<Call>& calls, EndpointPair& pair, Memory& memory) {
#if defined(__SANITIZE_ADDRESS__)
  int tries = 3;
#else
  int tries = 1;
#endif
  ChildEnd end = run_in_child(calls, pair, memory);
  while (end.hung && --tries > 0) end = run_in_child(calls, pair, memory);
  return end.failed;
}

// The pair's ends are joined over UDP, and each has several engines.
EndpointPair make_engines(Options options) {
  EndpointPair pair;
  std::tie(pair.client_end, pair.server_end) = PipeDatapath::make_pair();
  options.engines = 3;
  pair.client = std::move(Endpoint::open({.bind = "127.0.0.1"}, options)).value();
  options.transport.accept = true;
  options.sink = nullptr;
  pair.server = std::move(Endpoint::open({.bind = "127.0.0.1"}, options)).value();
  pair.to_server = pair.client->connect(pair.server->local_address()).value();
  EXPECT_TRUE(pair.client->wait_open(pair.to_server, kTestPatience));
  return pair;
}

class EndpointFork : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Of, EndpointFork, testing::Bool(), [](const auto& several) {
  return several.param ? "several_engines" : "one_engine";
});

TEST_P(EndpointFork, EveryCallInAChildReturnsAlthoughAThreadOfTheParentHeldTheLock) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "ThreadSanitizer ends a child that starts threads";
#endif
  ClosedDoor door;
  Options options;
  options.sink = &door;
  EndpointPair pair = GetParam() ? make_engines(options) : make_endpoints(options);
  if (!GetParam()) join(pair);
  char buffer = 0;
  Memory memory = pair.client->register_memory(&buffer, 1).value();
  const Operation sent = pair.client->send(pair.to_server, 0, &buffer, 1).value();
  std::thread inside([&] { pair.client->observe(events::Mark{}); });
  door.wait_for_somebody();
  std::vector<Call> calls = posting_calls(pair, sent);
  for (Call& call : other_calls(pair)) calls.push_back(std::move(call));
  const std::string failed = failed_in_child(calls, pair, memory);
  door.open();
  inside.join();
  EXPECT_EQ(failed, "");
}

}  // namespace
}  // namespace heddle::engine
