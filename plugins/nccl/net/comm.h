// Comm: what NCCL holds as a sendComm or recvComm; send_comm.h and receive_comm.h are the two
// kinds. Posting, testing and closing may come from different threads.
#pragma once

#include <memory>
#include <string>

#include "base/own_mutex.h"
#include "nccl/types.h"
#include "plugins/nccl/net/link.h"
#include "plugins/nccl/net/registration.h"
#include "plugins/nccl/net/request.h"

namespace heddle::nccl {

class Attachment;

class Comm {
 public:
  virtual ~Comm() = default;
  Comm(const Comm&) = delete;
  Comm& operator=(const Comm&) = delete;

  // test(): whether the request is done; then `sizes` (may be null) has the bytes of each part, and
  // the request is free again. A failure is logged once and stays. While it is not called, the
  // engine's helper thread drives the endpoint after 5 ms (engine/options.h).
  Status test(Request& request, bool& done, int* sizes);
  // Cancels all requests and waits until nothing uses their memory; NCCL does not test them any
  // more. Where the peer does not answer, the link is aborted after 1 s. If other comms share the
  // link, receives wait until the transport declares the peer dead (10 s at most). Sends only read
  // memory: they wait 50 ms, and what is still in flight keeps its memory registered.
  void abandon();

  Attachment& attachment() const { return *attachment_; }

 protected:
  Comm(std::shared_ptr<Attachment> attachment, Link& link);

  // All of these are called with mutex_ held.

  // Why nothing of this comm can be transferred any more although the link is open; empty: it can.
  virtual std::string ended() { return ""; }
  // Whether its transfers only read memory.
  virtual bool only_reads() const = 0;
  // Posts what irecv() could not post. Errors: those of fail_post().
  virtual Status post_deferred() { return kSuccess; }
  // Nothing is to be posted any more.
  virtual void drop_deferred() {}
  // The text for a message that was longer than its receive.
  virtual std::string truncated(const RequestPart& part) const = 0;
  // The status for a post that failed: kSuccess if it can be tried again later.
  Status fail_post(const Error& error);
  // Logs the first failure of this comm; returns its status, which stays.
  Status fail_with(Status status, const std::string& why);
  // The part uses this memory until it is done or abandoned.
  static void use(RequestPart& part, Registration* registration);
  // Posts done, the part belongs to `operation`.
  void posted(RequestPart& part, engine::Operation operation);
  // Nothing of the request is in flight: its memory is free and it may be used again.
  void give_back(Request& request);

  const std::shared_ptr<Attachment> attachment_;
  Link& link_;
  OwnMutex mutex_;
  RequestPool requests_;
  Status failure_ = kSuccess;

 private:
  bool advance(Request& request);
  void finish(RequestPart& part, const engine::Outcome& outcome);
  bool wait_for_all(Nanos patience);
  static void release(RequestPart& part);
};

}  // namespace heddle::nccl
