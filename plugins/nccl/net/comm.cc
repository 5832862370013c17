// The part of a comm that sends and receives share: tests, failures, and the end.
#include "plugins/nccl/net/comm.h"

#include <algorithm>
#include <utility>

#include "plugins/nccl/host_log.h"
#include "plugins/nccl/net/attachment.h"
#include "plugins/nccl/params.h"
#include "plugins/nccl/status.h"

namespace heddle::nccl {

Comm::Comm(std::shared_ptr<Attachment> attachment, Link& link)
    : attachment_(std::move(attachment)), link_(link) {}

void Comm::use(RequestPart& part, Registration* registration) {
  part.registration = registration;
  if (registration != nullptr) registration->begin_use();
}

void Comm::release(RequestPart& part) {
  if (part.registration != nullptr) part.registration->end_use();
  part.registration = nullptr;
  part.operation = {};
}

void Comm::give_back(Request& request) {
  for (RequestPart& part : request.parts) {
    part.profile.end(link_, part.bytes);
    release(part);
  }
  requests_.give_back(request);
}

void Comm::posted(RequestPart& part, engine::Operation operation) {
  part.operation = operation;
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
  part.done = outcome.ok;
  part.bytes = outcome.bytes;
  part.profile.end(link_, outcome.bytes);
  release(part);
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
  if (failure_ != kSuccess) return failure_;
  if (const Status status = post_deferred(); status != kSuccess) return status;
  if (!advance(request)) {
    if (failure_ != kSuccess) return failure_;
    const std::string why = ended();
    return why.empty() ? kSuccess : fail_with(kRemoteError, link_.peer() + ": " + why);
  }
  for (int i = 0; i < request.count && sizes != nullptr; ++i) {
    sizes[i] = static_cast<int>(request.parts[static_cast<size_t>(i)].bytes);
  }
  done = true;
  give_back(request);
  return kSuccess;
}

bool Comm::wait_for_all(Nanos patience) {
  engine::Endpoint& endpoint = link_.endpoint();
  const Nanos deadline = endpoint.now() + patience;
  bool all = true;
  requests_.for_each_busy([&](Request& request) {
    for (RequestPart& part : request.parts) {
      if (!part.operation) continue;
      const Nanos left = std::max(Nanos{}, deadline - endpoint.now());
      if (endpoint.wait(part.operation, left).done) {
        release(part);
      } else {
        all = false;
      }
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
  const bool shared = link_.comms() > 1;
  // A small message that waits at the peer for a receive cannot be withdrawn, and is no reason to
  // end other communicators' transfers.
  const bool left = shared && only_reads();
  const Nanos patience = left     ? params::net::kLeavePatience
                         : shared ? params::net::kSharedPatience
                                  : params::net::kAbandonPatience;
  if (!wait_for_all(patience)) {
    if (!left) link_.give_up("the peer did not answer while a transfer was canceled");
    requests_.for_each_busy([&](Request& request) {
      for (RequestPart& part : request.parts) {
        if (!part.operation) continue;
        endpoint.forget(part.operation);
        if (left) part.registration = nullptr;  // stays in use
      }
    });
  }
  requests_.for_each_busy([&](Request& request) { give_back(request); });
}

}  // namespace heddle::nccl
