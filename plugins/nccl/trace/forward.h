// How a wrapper passes a call on: the next function of its name gets the same arguments, and the
// caller its answer; what is recorded comes before and after. Functions that NCCL calls of itself
// are passed on only: they are part of the program's call.
#pragma once

#include <cstdint>
#include <cstdio>
#include <type_traits>

#include "engine/process_recording.h"
#include "plugins/nccl/trace/next_function.h"
#include "plugins/nccl/trace/thread_group.h"
#include "plugins/nccl/trace/trace.h"

namespace heddle::nccl::trace {

// Counts the wrapped calls that this thread is in.
class Nesting {
 public:
  Nesting() { ++depth_; }
  ~Nesting() { --depth_; }
  Nesting(const Nesting&) = delete;
  Nesting& operator=(const Nesting&) = delete;

  // The trace for a call of the program; null where nothing is recorded.
  static Trace* trace() { return depth_ == 1 ? process_trace() : nullptr; }

 private:
  inline static thread_local uint32_t depth_ = 0;
};

// What a wrapper answers where NCCL has no such function: only a program that was built for a newer
// NCCL, and then would not have started, gets here.
template <FunctionName kName>
int complain_missing(int status) {
  static constinit std::atomic<bool> complained{false};
  if (!complained.exchange(true)) {
    std::fprintf(stderr, "heddle: the libraries of this process have no %s\n", kName.text);
  }
  return status;
}

// Calls of NCCL that move data.
template <FunctionName kName, typename... Args>
Status pass_data_call(Status (*own)(Args...), const DataCall& call,
                      std::type_identity_t<Args>... args) {
  const auto next = next_function<kName>(own);
  if (next == nullptr) return static_cast<Status>(complain_missing<kName>(kInvalidUsage));
  const Nesting nesting;
  Trace* const trace = Nesting::trace();
  if (trace == nullptr) return next(args...);
  ThreadGroup* const group = ThreadGroup::of_this_thread();
  const CallRecord record = trace->begin(call, group == nullptr ? 0 : group->number());
  const Status status = next(args...);
  const bool waits = is_taken(status) && group != nullptr && group->keep(record);
  if (!waits) trace->end(record, is_taken(status));
  return status;
}

struct LibraryCallOptions {
  const void* comm = nullptr;
  uint64_t bytes = 0;
};

// Calls of NCCL that move none. `after(trace, status)` follows what is recorded.
template <FunctionName kName, typename After, typename... Args>
Status pass_library_call_then(Status (*own)(Args...), const LibraryCallOptions& call,
                              const After& after, std::type_identity_t<Args>... args) {
  const auto next = next_function<kName>(own);
  if (next == nullptr) return static_cast<Status>(complain_missing<kName>(kInvalidUsage));
  const Nesting nesting;
  Trace* const trace = Nesting::trace();
  if (trace == nullptr) return next(args...);
  const Nanos began = engine::recording_clock();
  const Status status = next(args...);
  trace->called({kName.text, call.comm, call.bytes, static_cast<uint32_t>(status), began});
  after(*trace, status);
  return status;
}

template <FunctionName kName, typename... Args>
Status pass_library_call(Status (*own)(Args...), const LibraryCallOptions& call,
                         std::type_identity_t<Args>... args) {
  const auto nothing = [](Trace& /*trace*/, Status /*status*/) {};
  return pass_library_call_then<kName>(own, call, nothing, args...);
}

// Calls that make a communicator, if `birth` names where its handle goes.
template <FunctionName kName, typename... Args>
Status pass_birth(Status (*own)(Args...), const Birth& birth, const void* parent,
                  std::type_identity_t<Args>... args) {
  const auto note = [&birth](Trace& trace, Status status) {
    if (!is_taken(status) || birth.handle == nullptr) return;
    ThreadGroup* const group = ThreadGroup::of_this_thread();
    if (group == nullptr || !group->keep(birth)) trace.made({&birth, 1});
  };
  return pass_library_call_then<kName>(own, {.comm = parent}, note, args...);
}

// Copies of CUDA; `find(trace)` returns the Copy, and is asked only while recording.
template <FunctionName kName, typename Find, typename... Args>
int pass_copy(int (*own)(Args...), const Find& find, std::type_identity_t<Args>... args) {
  constexpr int kNotFound = 500;  // cudaErrorSymbolNotFound, CUDA_ERROR_NOT_FOUND
  const auto next = next_function<kName>(own);
  if (next == nullptr) return complain_missing<kName>(kNotFound);
  const Nesting nesting;
  Trace* const trace = Nesting::trace();
  if (trace == nullptr) return next(args...);
  const CallRecord record = trace->begin(find(*trace));
  const int status = next(args...);
  trace->end(record, status == 0);
  return status;
}

}  // namespace heddle::nccl::trace
