// The part of a comm that sends and receives share: tests, failures, and the end.
#include "plugins/nccl/net/comm.h"

#include <utility>

#include "plugins/nccl/host_log.h"
#include "plugins/nccl/net/attachment.h"
#include "plugins/nccl/status.h"

namespace heddle::nccl {
namespace {

// A living peer answers a cancellation within a round trip. One that is dead or stopped must not
// hold up the abort of a job.
constexpr Nanos kAbandonPatience = seconds(1);

}  // namespace

Comm::Comm(std::shared_ptr<Attachment> attachment, Link& link)
    : attachment_(std::move(attachment)), link_(link) {}

void Comm::posted(RequestPart& part, engine::Operation operation) {
  part.operation = operation;
  if (part.registration != nullptr) part.registration->begin_use();
  part.profile.begin(part.profile_parent, link_, part.buffer.length);
}

Status Comm::fail_with(Status status, const std::string& why) {
  if (failure_ == kSuccess) {
    failure_ = status;
    host_log().warn("transfer over " + attachment_->name() + " failed: " + why);
  }
  return failure_;
}

Status Comm::fail_post(const Error& error) {
  if (error.code == ErrorCode::kExhausted) return kSuccess;
  if (error.code == ErrorCode::kClosed) return fail_with(link_.failure_status(), link_.failure());
  return fail_with(status_of(error.code), error.message());
}

void Comm::finish(RequestPart& part, const engine::Outcome& outcome) {
  part.operation = {};
  if (part.registration != nullptr) part.registration->end_use();
  part.done = outcome.ok;
  part.bytes = outcome.bytes;
  part.profile.end(link_, outcome.bytes);
  if (outcome.ok) return;
  switch (outcome.error) {
    case ErrorCode::kTruncated:
      static_cast<void>(fail_with(kInvalidUsage, link_.peer() + ": " + truncated(part)));
      return;
    case ErrorCode::kCancelled:
      static_cast<void>(fail_with(kRemoteError, link_.peer() + ": the peer canceled the transfer"));
      return;
    default:
      static_cast<void>(fail_with(link_.failure_status(), link_.failure()));
  }
}

// Takes the outcomes that are there, after one turn of the endpoint if the first is not. False:
// parts are in flight.
bool Comm::advance(Request& request) {
  engine::Endpoint& endpoint = link_.endpoint();
  bool all = true;
  for (int i = 0; i < request.count; ++i) {
    RequestPart& part = request.parts[static_cast<size_t>(i)];
    if (part.done) continue;
    if (part.operation) {
      const engine::Outcome outcome =
          all ? endpoint.test(part.operation) : endpoint.peek(part.operation);
      if (outcome.done) finish(part, outcome);
    }
    all = all && part.done;
  }
  return all;
}

Status Comm::test(Request& request, bool& done, int* sizes) {
  done = false;
  const OwnMutex::Lock lock = mutex_.enter();
  if (!lock.owns_lock()) return kInvalidUsage;  // a child of fork()
  if (!request.busy) return fail_with(kInvalidArgument, "a request was tested that is not posted");
  if (const Status status = post_deferred(); status != kSuccess) return status;
  if (!advance(request)) return failure_;
  for (int i = 0; i < request.count && sizes != nullptr; ++i) {
    sizes[i] = static_cast<int>(request.parts[static_cast<size_t>(i)].bytes);
  }
  done = true;
  requests_.give_back(request);
  return kSuccess;
}

bool Comm::wait_for_all(Nanos patience) {
  bool all = true;
  requests_.for_each_busy([&](Request& request) {
    for (RequestPart& part : request.parts) {
      if (!part.operation) continue;
      const engine::Outcome outcome = link_.endpoint().wait(part.operation, patience);
      if (outcome.done) {
        part.operation = {};
        if (part.registration != nullptr) part.registration->end_use();
      }
      all = all && outcome.done;
      if (!outcome.done) patience = Nanos{};  // the limit is for all together
    }
  });
  return all;
}

void Comm::abandon() {
  const OwnMutex::Lock lock = mutex_.enter();
  if (!lock.owns_lock()) return;
  drop_deferred();
  engine::Endpoint& endpoint = link_.endpoint();
  requests_.for_each_busy([&](Request& request) {
    for (RequestPart& part : request.parts) {
      if (part.operation) endpoint.cancel(part.operation);
    }
  });
  if (!wait_for_all(kAbandonPatience)) {
    endpoint.abort(link_.connection());
    requests_.for_each_busy([&](Request& request) {
      for (RequestPart& part : request.parts) {
        if (!part.operation) continue;
        endpoint.forget(part.operation);
        if (part.registration != nullptr) part.registration->end_use();
      }
    });
  }
  requests_.for_each_busy([&](Request& request) { requests_.give_back(request); });
}

}  // namespace heddle::nccl
