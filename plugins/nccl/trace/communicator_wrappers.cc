// The wrappers of NCCL's calls that make, change and end communicators, and of groups.
#include <algorithm>

#include "plugins/nccl/trace/cuda_devices.h"
#include "plugins/nccl/trace/forward.h"
#include "plugins/nccl/trace/nccl_calls.h"

namespace heddle::nccl::trace {
namespace {

// A communicator that ranks meet in by unique ids.
Birth met(Comm* made, uint64_t number, int rank, int size) {
  return {made, number, static_cast<uint32_t>(rank), static_cast<uint32_t>(std::max(size, 0)),
          process_trace() == nullptr ? kUnknownDevice : current_device()};
}

// One that the ranks of `parent` make together. NCCL knows the ranks' new numbers.
Birth child_of(Comm parent, Comm* made, uint64_t common) {
  Trace* const trace = process_trace();
  Communicator* const known = trace == nullptr ? nullptr : trace->find(parent);
  if (known == nullptr) return {};
  const DeviceRecording* const device = known->device.load();
  return {made, number_of_child(known->number, known->children.fetch_add(1) + 1, common), 0, 0,
          device == nullptr ? kUnknownDevice : device->device()};
}

// Called before NCCL frees it: the address may be another communicator's right after.
void forget(Comm comm, bool failed) {
  if (Trace* const trace = process_trace()) trace->ended(comm, failed);
}

}  // namespace

extern "C" {

Status ncclGetVersion(int* version) {
  return pass_library_call<"ncclGetVersion">(ncclGetVersion, {}, version);
}

Status ncclGetUniqueId(UniqueId* id) {
  return pass_library_call<"ncclGetUniqueId">(ncclGetUniqueId, {}, id);
}

Status ncclCommInitRank(Comm* comm, int size, UniqueId id, int rank) {
  return pass_birth<"ncclCommInitRank">(ncclCommInitRank,
                                        met(comm, number_of_ids(&id, sizeof id), rank, size),
                                        nullptr, comm, size, id, rank);
}

Status ncclCommInitRankConfig(Comm* comm, int size, UniqueId id, int rank, Config* config) {
  return pass_birth<"ncclCommInitRankConfig">(ncclCommInitRankConfig,
                                              met(comm, number_of_ids(&id, sizeof id), rank, size),
                                              nullptr, comm, size, id, rank, config);
}

Status ncclCommInitRankScalable(Comm* comm, int size, int rank, int id_count, UniqueId* ids,
                                Config* config) {
  const size_t bytes = ids == nullptr || id_count < 0 ? 0 : sizeof *ids * id_count;
  return pass_birth<"ncclCommInitRankScalable">(ncclCommInitRankScalable,
                                                met(comm, number_of_ids(ids, bytes), rank, size),
                                                nullptr, comm, size, rank, id_count, ids, config);
}

Status ncclCommInitAll(Comm* comms, int count, const int* devices) {
  const auto note = [comms, count, devices](Trace& trace, Status status) {
    if (is_taken(status)) trace.made_all(comms, count, devices);
  };
  return pass_library_call_then<"ncclCommInitAll">(ncclCommInitAll, {}, note, comms, count,
                                                   devices);
}

Status ncclCommSplit(Comm comm, int color, int key, Comm* made, Config* config) {
  Birth birth = child_of(comm, made, static_cast<uint32_t>(color));
  if (color < 0) birth.handle = nullptr;  // NCCL_SPLIT_NOCOLOR
  return pass_birth<"ncclCommSplit">(ncclCommSplit, birth, comm, comm, color, key, made, config);
}

Status ncclCommShrink(Comm comm, int* excluded, int excluded_count, Comm* made, Config* config,
                      int flags) {
  return pass_birth<"ncclCommShrink">(ncclCommShrink, child_of(comm, made, 1ull << 32), comm, comm,
                                      excluded, excluded_count, made, config, flags);
}

Status ncclCommGetUniqueId(Comm comm, UniqueId* id) {
  return pass_library_call<"ncclCommGetUniqueId">(ncclCommGetUniqueId, {.comm = comm}, comm, id);
}

// New ranks know the id alone, the others their communicator alone.
Status ncclCommGrow(Comm comm, int size, const UniqueId* id, int rank, Comm* made, Config* config) {
  const bool joins = comm == nullptr && id != nullptr;
  return pass_birth<"ncclCommGrow">(ncclCommGrow,
                                    joins ? met(made, number_of_ids(id, sizeof *id), rank, size)
                                          : child_of(comm, made, 2ull << 32),
                                    comm, comm, size, id, rank, made, config);
}

Status ncclCommFinalize(Comm comm) {
  return pass_library_call<"ncclCommFinalize">(ncclCommFinalize, {.comm = comm}, comm);
}

Status ncclCommDestroy(Comm comm) {
  forget(comm, false);
  return pass_library_call<"ncclCommDestroy">(ncclCommDestroy, {.comm = comm}, comm);
}

Status ncclCommAbort(Comm comm) {
  forget(comm, true);
  return pass_library_call<"ncclCommAbort">(ncclCommAbort, {.comm = comm}, comm);
}

Status ncclCommRevoke(Comm comm, int flags) {
  return pass_library_call<"ncclCommRevoke">(ncclCommRevoke, {.comm = comm}, comm, flags);
}

Status ncclCommSuspend(Comm comm, int flags) {
  return pass_library_call<"ncclCommSuspend">(ncclCommSuspend, {.comm = comm}, comm, flags);
}

Status ncclCommResume(Comm comm) {
  return pass_library_call<"ncclCommResume">(ncclCommResume, {.comm = comm}, comm);
}

Status ncclGroupStart() {
  const auto next = next_function<"ncclGroupStart">(ncclGroupStart);
  if (next == nullptr)
    return static_cast<Status>(complain_missing<"ncclGroupStart">(kInvalidUsage));
  const Nesting nesting;
  Trace* const trace = Nesting::trace();
  const Status status = next();
  if (trace == nullptr || status != kSuccess) return status;
  if (ThreadGroup* const group = ThreadGroup::of_this_thread()) group->start();
  return status;
}

Status ncclGroupEnd() {
  const auto next = next_function<"ncclGroupEnd">(ncclGroupEnd);
  if (next == nullptr) return static_cast<Status>(complain_missing<"ncclGroupEnd">(kInvalidUsage));
  const Nesting nesting;
  Trace* const trace = Nesting::trace();
  const Status status = next();
  if (trace == nullptr) return status;
  if (ThreadGroup* const group = ThreadGroup::of_this_thread()) group->end(trace, status, true);
  return status;
}

Status ncclGroupSimulateEnd(void* info) {
  const auto next = next_function<"ncclGroupSimulateEnd">(ncclGroupSimulateEnd);
  if (next == nullptr) {
    return static_cast<Status>(complain_missing<"ncclGroupSimulateEnd">(kInvalidUsage));
  }
  const Nesting nesting;
  Trace* const trace = Nesting::trace();
  const Status status = next(info);
  if (trace == nullptr) return status;
  if (ThreadGroup* const group = ThreadGroup::of_this_thread()) group->end(trace, status, false);
  return status;
}

}  // extern "C"

}  // namespace heddle::nccl::trace
