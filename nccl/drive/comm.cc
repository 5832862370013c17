// Streams of a drive: see comm.h.
#include "nccl/drive/comm.h"

#include <fmt/format.h>

#include <algorithm>

#include "nccl/drive/clock.h"
#include "nccl/drive/payload.h"
#include "nccl/drive/plugin_log.h"
#include "nccl/result_name.h"

namespace heddle::nccl {
namespace {

// What sizes hold before test. NCCL accepts plugins that never write them.
constexpr int kUnreported = -1;

// A plugin that posts nothing writes null; this value shows that it wrote nothing at all.
void* unwritten_request() {
  static char mark = 0;
  return &mark;
}

Unexpected broken_contract(const char* call, const CommPlan& comm, std::string why) {
  return fail(ErrorCode::kSystem, fmt::format("{} on {} with rank {}", call, comm.key, comm.peer),
              std::move(why), "report it to the plugin's makers");
}

Unexpected wrong_data(const CommPlan& comm, uint64_t index, std::string why) {
  return fail(ErrorCode::kTruncated,
              fmt::format("message {} of {} from rank {}", index, comm.key, comm.peer),
              std::move(why));
}

}  // namespace

uint64_t slots_of(const StreamSetting& setting, bool sends) {
  const auto requests = static_cast<uint64_t>(setting.in_flight);
  return sends ? requests : requests * static_cast<uint64_t>(setting.group);
}

Unexpected plugin_failure(const char* call, const CommPlan& comm, Status status) {
  return fail(error_code(status), fmt::format("{} on {} with rank {}", call, comm.key, comm.peer),
              fmt::format("the plugin returned {} ({})", result_name(status), int{status}),
              status == kRemoteError ? "look at what ended that rank" : plugin_log_hint());
}

ReceiveStream::ReceiveStream(const StreamSetting& setting, OpenComm& comm)
    : setting_(setting), comm_(comm), seed_(payload_seed(comm.plan->key)) {}

Result<bool> ReceiveStream::turn() {
  const Result<bool> posted = post();
  if (!posted) return posted;
  const Result<bool> tested = test();
  if (!tested) return tested;
  return *posted || *tested;
}

std::byte* ReceiveStream::buffer(uint64_t request, int at) const {
  const auto ring = static_cast<uint64_t>(setting_.in_flight);
  const auto group = static_cast<uint64_t>(setting_.group);
  return comm_.slot((request % ring) * group + static_cast<uint64_t>(at));
}

bool ReceiveStream::is_optional(const Request& request) const {
  return setting_.optional_receive && request.count == 1;
}

Result<bool> ReceiveStream::post() {
  bool moved = false;
  const auto most = static_cast<uint64_t>(setting_.in_flight);
  while (posted_ < target_ && posted_requests_ - finished_requests_ < most) {
    // A group ends with its iteration, as a group of NCCL's sub-operations does.
    const uint64_t left = comm_.plan->messages - posted_ % comm_.plan->messages;
    const int count =
        static_cast<int>(std::min<uint64_t>(left, static_cast<uint64_t>(setting_.group)));
    std::array<NetPlugin::Message, kMaxGroupedReceives> messages{};
    for (int i = 0; i < count; ++i) {
      messages[static_cast<size_t>(i)] = {.data = buffer(posted_requests_, i),
                                          .size = comm_.slot_bytes,
                                          .tag = i,
                                          .mhandle = comm_.mhandle};
    }
    Request& request = requests_[posted_requests_ % most];
    request = {.handle = unwritten_request(), .first = posted_, .count = count};
    if (is_optional(request)) request.handle = reinterpret_cast<void*>(kOptionalCompletion);
    const Status status =
        setting_.plugin->irecv(comm_.comm, count, messages.data(), &request.handle);
    if (status != kSuccess) return plugin_failure("irecv", *comm_.plan, status);
    if (request.handle == nullptr) {
      ++setting_.result->null_requests;
      return moved;
    }
    if (request.handle == unwritten_request() ||
        reinterpret_cast<uintptr_t>(request.handle) == kOptionalCompletion) {
      return broken_contract("irecv", *comm_.plan, "it succeeded without writing *request");
    }
    if (count > 1) ++setting_.result->grouped_receives;
    posted_ += static_cast<uint64_t>(count);
    ++posted_requests_;
    moved = true;
  }
  return moved;
}

Result<bool> ReceiveStream::test() {
  bool moved = false;
  while (finished_requests_ < posted_requests_) {
    Request& request = requests_[finished_requests_ % static_cast<uint64_t>(setting_.in_flight)];
    if (!request.done) {
      int done = 0;
      request.sizes.fill(kUnreported);
      const Status status = setting_.plugin->test(request.handle, &done, request.sizes.data());
      if (status != kSuccess) return plugin_failure("test of a receive", *comm_.plan, status);
      if (done == 0) return moved;
      request.done = true;
    }
    const Result<bool> complete = accept_data(request);
    if (!complete) return complete;
    if (!*complete) return moved;
    received_ += static_cast<uint64_t>(request.count);
    ++finished_requests_;
    moved = true;
  }
  return moved;
}

// False: an optional completion came before its data, which a GPU would see by flags in it.
Result<bool> ReceiveStream::accept_data(const Request& request) {
  uint64_t bytes_received = 0;
  uint64_t unreported = 0;
  for (int i = 0; i < request.count; ++i) {
    const uint64_t index = request.first + static_cast<uint64_t>(i);
    const uint64_t expected = comm_.plan->bytes_of(index);
    const int got = request.sizes[static_cast<size_t>(i)];
    if (got != kUnreported && static_cast<uint64_t>(got) != expected && !is_optional(request)) {
      return wrong_data(*comm_.plan, index,
                        fmt::format("test reports {} bytes, {} were sent", got, expected));
    }
    if (setting_.check && !is_payload({buffer(finished_requests_, i), expected}, seed_, index)) {
      if (is_optional(request)) return false;
      return wrong_data(*comm_.plan, index, "its bytes differ from those sent");
    }
    bytes_received += expected;
    if (got == kUnreported) ++unreported;
  }
  setting_.result->bytes_received += bytes_received;
  setting_.result->unreported_sizes += unreported;
  setting_.result->messages_received += static_cast<uint64_t>(request.count);
  return true;
}

SendStream::SendStream(const StreamSetting& setting, OpenComm& comm,
                       const std::vector<ReceiveStream>& receives)
    : setting_(setting), comm_(comm), receives_(receives), seed_(payload_seed(comm.plan->key)) {}

Result<bool> SendStream::turn() {
  const Result<bool> posted = post();
  if (!posted) return posted;
  const Result<bool> tested = test();
  if (!tested) return tested;
  return *posted || *tested;
}

bool SendStream::may_send(uint64_t index) const {
  const uint64_t iteration = index / comm_.plan->messages;
  const uint64_t within = index % comm_.plan->messages;
  return std::all_of(
      comm_.plan->after.begin(), comm_.plan->after.end(), [&](const Dependency& each) {
        const uint64_t needed = within < each.lag ? 0 : within - each.lag + 1;
        // Both comms have as many messages an iteration.
        return receives_[each.receive].received() >= iteration * comm_.plan->messages + needed;
      });
}

Result<bool> SendStream::post() {
  bool moved = false;
  const auto most = static_cast<uint64_t>(setting_.in_flight);
  while (posted_ < target_ && posted_ - sent_ < most && may_send(posted_)) {
    const uint64_t bytes = comm_.plan->bytes_of(posted_);
    std::byte* const data = comm_.slot(posted_ % most);
    if (setting_.check) fill_payload({data, bytes}, seed_, posted_);
    const auto group = static_cast<uint64_t>(setting_.group);
    const NetPlugin::Message message{
        .data = data,
        .size = bytes,
        .tag = static_cast<int>(posted_ % comm_.plan->messages % group),
        .mhandle = comm_.mhandle};
    Request& request = requests_[posted_ % most];
    request = {.handle = unwritten_request(), .posted_at = monotonic_now()};
    const Status status = setting_.plugin->isend(comm_.comm, message, &request.handle);
    if (status != kSuccess) return plugin_failure("isend", *comm_.plan, status);
    if (request.handle == nullptr) {
      ++setting_.result->null_requests;
      return moved;
    }
    if (request.handle == unwritten_request()) {
      return broken_contract("isend", *comm_.plan, "it succeeded without writing *request");
    }
    ++posted_;
    moved = true;
  }
  return moved;
}

Result<bool> SendStream::test() {
  bool moved = false;
  while (sent_ < posted_) {
    Request& request = requests_[sent_ % static_cast<uint64_t>(setting_.in_flight)];
    int done = 0;
    int size = kUnreported;
    const Status status = setting_.plugin->test(request.handle, &done, &size);
    if (status != kSuccess) return plugin_failure("test of a send", *comm_.plan, status);
    if (done == 0) return moved;
    const uint64_t bytes = comm_.plan->bytes_of(sent_);
    if (size != kUnreported && static_cast<uint64_t>(size) != bytes) {
      return broken_contract("test of a send", *comm_.plan,
                             fmt::format("it reports {} bytes of a send of {}", size, bytes));
    }
    DriveResult& result = *setting_.result;
    result.send_latency.add(monotonic_now() - request.posted_at);
    result.bytes_sent += bytes;
    ++result.messages_sent;
    if (bytes == 0) ++result.empty_messages_sent;
    ++sent_;
    moved = true;
  }
  return moved;
}

}  // namespace heddle::nccl
