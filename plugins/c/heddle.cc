// heddle.h's functions over shared communicators. Errors are returned as a status and as a text of
// the calling thread; no exception crosses the interface.
#include "plugins/c/heddle.h"

#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/config.h"
#include "base/version.h"
#include "collectives/driven_endpoint.h"
#include "collectives/launch.h"
#include "collectives/shared_communicator.h"
#include "engine/process_recording.h"
#include "plugins/c/handles.h"

using heddle::Error;
using heddle::ErrorCode;
using heddle::Nanos;
using heddle::Result;
using heddle::c::guarded;
using heddle::c::invalid;
using heddle::c::last_error;
using heddle::c::load_config;
using heddle::c::report;
using heddle::collectives::Call;
using heddle::collectives::Collective;
using heddle::collectives::DataType;
using heddle::collectives::DrivenEndpoint;
using heddle::collectives::PendingCall;
using heddle::collectives::ReduceOp;
using heddle::collectives::SharedCommunicator;

namespace {

// Calls of a group, by communicator; their order on each is kept.
struct Group {
  int depth = 0;
  std::map<heddle_comm*, std::vector<Call>> calls;
};

thread_local Group group;  // NOLINT: per thread

heddle_status meet(const std::vector<std::string>& environment, heddle_comm** world) {
  const Result<heddle::Config> config = load_config();
  if (!config) return report(config.error());
  Result<DrivenEndpoint::Met> met = DrivenEndpoint::meet(*config, environment);
  if (!met) return report(met.error());
  auto made = SharedCommunicator::create(DrivenEndpoint::thread_of(met->endpoint),
                                         heddle::collectives::members_of(met->group),
                                         met->endpoint->communicator_options());
  if (!made) return report(made.error());
  *world = new heddle_comm{std::move(*made), std::move(met->endpoint), {}, true};
  return HEDDLE_OK;
}

// How a group of calls has ended; the first error counts.
heddle_status wait_for(const heddle_request& request, Nanos timeout) {
  const auto& calls = request.calls;
  heddle_status status = HEDDLE_OK;
  for (const PendingCall& call : calls) {
    const Result<void> ended = call.wait(timeout);
    if (ended) continue;
    if (!call.done()) return report(ended.error());
    if (status == HEDDLE_OK) status = report(ended.error());
  }
  return status;
}

heddle_status begin(heddle_comm* comm, std::vector<Call> calls, heddle_request** request) {
  auto posted = comm->communicator->post_group(std::move(calls));
  if (!posted) return report(posted.error());
  heddle_request made{std::move(*posted)};
  if (request == nullptr) return wait_for(made, Nanos::never());
  *request = new heddle_request(std::move(made));
  return HEDDLE_OK;
}

heddle_status call(heddle_comm* comm, Call what, heddle_request** request) noexcept {
  if (request != nullptr) *request = nullptr;
  return guarded([&]() -> heddle_status {
    if (comm == nullptr) return invalid("cannot call", "there is no communicator");
    if (group.depth > 0) {
      if (request != nullptr) {
        return invalid("cannot call in a group", "the call asks for a request",
                       "give NULL: heddle_group_end() has the group's");
      }
      group.calls[comm].push_back(std::move(what));
      return HEDDLE_OK;
    }
    std::vector<Call> one;
    one.push_back(std::move(what));
    return begin(comm, std::move(one), request);
  });
}

// What is no type or operation stays none, and is refused where calls are checked.
Call make(Collective collective, const void* input, void* output, uint64_t count,
          heddle_type type) {
  return {.collective = collective,
          .type = static_cast<DataType>(type),
          .count = count,
          .input = input,
          .output = output};
}

Call with(Call made, heddle_op op, uint32_t root) {
  made.op = static_cast<ReduceOp>(op);
  made.root = root;
  return made;
}

}  // namespace

const char* heddle_version(void) { return heddle::kVersion.data(); }
const char* heddle_error(void) { return last_error().c_str(); }

const char* heddle_status_name(heddle_status status) {
  switch (status) {
    case HEDDLE_OK:
      return "ok";
    case HEDDLE_INVALID:
      return "invalid";
    case HEDDLE_UNAVAILABLE:
      return "unavailable";
    case HEDDLE_PERMISSION:
      return "permission";
    case HEDDLE_IN_USE:
      return "in use";
    case HEDDLE_TIMEOUT:
      return "timeout";
    case HEDDLE_PEER_DEAD:
      return "peer dead";
    case HEDDLE_CANCELLED:
      return "cancelled";
    case HEDDLE_TRUNCATED:
      return "truncated";
    case HEDDLE_CLOSED:
      return "closed";
    case HEDDLE_VERSION:
      return "version";
    case HEDDLE_EXHAUSTED:
      return "exhausted";
    case HEDDLE_SYSTEM:
      return "system";
  }
  return "?";
}

// --- communicators ---

heddle_status heddle_init(heddle_comm** world) {
  return guarded([&]() -> heddle_status {
    if (world == nullptr) return invalid("cannot make a communicator", "there is no place for it");
    *world = nullptr;
    const heddle_status met = meet(heddle::ConfigSources::of_process().environment, world);
    if (met == HEDDLE_OK) {
      heddle::collectives::report_members((*world)->communicator->members());
    }
    return met;
  });
}

heddle_status heddle_create(uint32_t rank, uint32_t size, const char* store, heddle_comm** world) {
  return guarded([&]() -> heddle_status {
    if (world == nullptr) return invalid("cannot make a communicator", "there is no place for it");
    *world = nullptr;
    if (store == nullptr) return invalid("cannot make a communicator", "no store is named");
    std::vector<std::string> launch = {"HEDDLE_RANK=" + std::to_string(rank),
                                       "HEDDLE_SIZE=" + std::to_string(size),
                                       std::string("HEDDLE_STORE=") + store};
    const char* const token = std::getenv("HEDDLE_TOKEN");
    if (token != nullptr) launch.push_back(std::string("HEDDLE_TOKEN=") + token);
    return meet(launch, world);
  });
}

heddle_status heddle_split(heddle_comm* comm, int32_t colour, int32_t key, heddle_comm** part) {
  return guarded([&]() -> heddle_status {
    if (comm == nullptr || part == nullptr) {
      return invalid("cannot split a communicator", "there is none, or no place for its part");
    }
    *part = nullptr;
    auto made = comm->communicator->split(colour, key);
    if (!made) return report(made.error());
    if (*made) *part = new heddle_comm{std::move(*made), comm->endpoint, {}, false};
    return HEDDLE_OK;
  });
}

void heddle_destroy(heddle_comm* comm) {
  static_cast<void>(guarded([&]() -> heddle_status {
    delete comm;
    return HEDDLE_OK;
  }));
}

uint32_t heddle_rank(const heddle_comm* comm) {
  return comm == nullptr ? 0 : comm->communicator->rank();
}

uint32_t heddle_size(const heddle_comm* comm) {
  return comm == nullptr ? 0 : comm->communicator->size();
}

heddle_status heddle_abort(heddle_comm* comm) {
  return guarded([&]() -> heddle_status {
    if (comm == nullptr) return invalid("cannot abort", "there is no communicator");
    comm->communicator->abort();
    return HEDDLE_OK;
  });
}

heddle_status heddle_failure(const heddle_comm* comm) {
  return guarded([&]() -> heddle_status {
    if (comm == nullptr) return invalid("cannot report a failure", "there is no communicator");
    const std::optional<Error> failed = comm->communicator->failure();
    return failed ? report(*failed) : HEDDLE_OK;
  });
}

// --- calls ---

heddle_status heddle_all_reduce(heddle_comm* comm, const void* input, void* output, uint64_t count,
                                heddle_type type, heddle_op op, heddle_request** request) {
  return call(comm, with(make(Collective::kAllReduce, input, output, count, type), op, 0), request);
}

heddle_status heddle_reduce_scatter(heddle_comm* comm, const void* input, void* output,
                                    uint64_t count, heddle_type type, heddle_op op,
                                    heddle_request** request) {
  return call(comm, with(make(Collective::kReduceScatter, input, output, count, type), op, 0),
              request);
}

heddle_status heddle_reduce(heddle_comm* comm, const void* input, void* output, uint64_t count,
                            heddle_type type, heddle_op op, uint32_t root,
                            heddle_request** request) {
  return call(comm, with(make(Collective::kReduce, input, output, count, type), op, root), request);
}

heddle_status heddle_all_gather(heddle_comm* comm, const void* input, void* output, uint64_t count,
                                heddle_type type, heddle_request** request) {
  return call(comm, make(Collective::kAllGather, input, output, count, type), request);
}

heddle_status heddle_broadcast(heddle_comm* comm, const void* input, void* output, uint64_t count,
                               heddle_type type, uint32_t root, heddle_request** request) {
  return call(comm,
              with(make(Collective::kBroadcast, input, output, count, type), HEDDLE_SUM, root),
              request);
}

heddle_status heddle_gather(heddle_comm* comm, const void* input, void* output, uint64_t count,
                            heddle_type type, uint32_t root, heddle_request** request) {
  return call(comm, with(make(Collective::kGather, input, output, count, type), HEDDLE_SUM, root),
              request);
}

heddle_status heddle_scatter(heddle_comm* comm, const void* input, void* output, uint64_t count,
                             heddle_type type, uint32_t root, heddle_request** request) {
  return call(comm, with(make(Collective::kScatter, input, output, count, type), HEDDLE_SUM, root),
              request);
}

heddle_status heddle_all_to_all(heddle_comm* comm, const void* input, void* output, uint64_t count,
                                heddle_type type, heddle_request** request) {
  return call(comm, make(Collective::kAllToAll, input, output, count, type), request);
}

heddle_status heddle_all_to_all_v(heddle_comm* comm, const void* input, const uint64_t* send_counts,
                                  const uint64_t* send_offsets, void* output,
                                  const uint64_t* receive_counts, const uint64_t* receive_offsets,
                                  heddle_type type, heddle_request** request) {
  Call made = make(Collective::kAllToAllV, input, output, 0, type);
  const heddle_status copied = guarded([&]() -> heddle_status {
    if (send_counts == nullptr || send_offsets == nullptr || receive_counts == nullptr ||
        receive_offsets == nullptr) {
      return invalid("cannot call alltoallv", "counts or offsets are missing");
    }
    const uint32_t size = heddle_size(comm);
    made.exchange = {{send_counts, send_counts + size},
                     {send_offsets, send_offsets + size},
                     {receive_counts, receive_counts + size},
                     {receive_offsets, receive_offsets + size}};
    return HEDDLE_OK;
  });
  return copied == HEDDLE_OK ? call(comm, std::move(made), request) : copied;
}

heddle_status heddle_barrier(heddle_comm* comm, heddle_request** request) {
  return call(comm, {.collective = Collective::kBarrier}, request);
}

heddle_status heddle_send(heddle_comm* comm, const void* input, uint64_t count, heddle_type type,
                          uint32_t to, heddle_request** request) {
  return call(comm, with(make(Collective::kSend, input, nullptr, count, type), HEDDLE_SUM, to),
              request);
}

heddle_status heddle_receive(heddle_comm* comm, void* output, uint64_t count, heddle_type type,
                             uint32_t from, heddle_request** request) {
  return call(comm,
              with(make(Collective::kReceive, nullptr, output, count, type), HEDDLE_SUM, from),
              request);
}

heddle_status heddle_group_start(void) {
  ++group.depth;
  return HEDDLE_OK;
}

heddle_status heddle_group_end(heddle_request** request) {
  if (request != nullptr) *request = nullptr;
  return guarded([&]() -> heddle_status {
    if (group.depth == 0) {
      return invalid("cannot end a group", "none was started in this thread");
    }
    if (--group.depth > 0) return HEDDLE_OK;  // the outer one ends it
    heddle_request all;
    heddle_status status = HEDDLE_OK;
    for (auto& [comm, calls] : std::exchange(group.calls, {})) {
      auto posted = comm->communicator->post_group(std::move(calls));
      if (!posted) {
        if (status == HEDDLE_OK) status = report(posted.error());
        continue;
      }
      for (PendingCall& each : *posted) all.calls.push_back(std::move(each));
    }
    if (status != HEDDLE_OK || request == nullptr) {
      const heddle_status ended = wait_for(all, Nanos::never());
      return status != HEDDLE_OK ? status : ended;
    }
    *request = new heddle_request(std::move(all));
    return HEDDLE_OK;
  });
}

// --- ends ---

heddle_status heddle_wait(heddle_request** request, int64_t timeout_ms) {
  return guarded([&]() -> heddle_status {
    if (request == nullptr || *request == nullptr) return HEDDLE_OK;
    constexpr int64_t kLongest = INT64_MAX / 1'000'000;
    const bool forever = timeout_ms < 0 || timeout_ms > kLongest;
    const Nanos until = forever ? Nanos::never() : heddle::millis(timeout_ms);
    const heddle_status status = wait_for(**request, until);
    bool ended = true;
    for (const PendingCall& each : (*request)->calls) ended = ended && each.done();
    if (!ended) return status;
    delete std::exchange(*request, nullptr);
    return status;
  });
}

heddle_status heddle_test(heddle_request** request, int* done) {
  return guarded([&]() -> heddle_status {
    if (done == nullptr)
      return invalid("cannot test a request", "there is no place for the answer");
    *done = 0;
    if (request != nullptr && *request != nullptr) {
      for (const PendingCall& each : (*request)->calls) {
        if (!each.done()) return HEDDLE_OK;
      }
    }
    *done = 1;
    return heddle_wait(request, 0);
  });
}

void heddle_forget(heddle_request** request) {
  if (request != nullptr) delete std::exchange(*request, nullptr);
}

heddle_status heddle_mark(const char* name, uint64_t step) {
  if (name == nullptr) return invalid("cannot mark a phase", "it has no name", "give it one");
  return guarded([&]() -> heddle_status {
    heddle::engine::mark(name, step);
    return HEDDLE_OK;
  });
}
