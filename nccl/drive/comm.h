// Comms of a drive: one open comm with its buffers, and the streams that the progress thread turns.
// A stream posts up to its limit, tests its oldest request, and counts; it never waits.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/anonymous_memory.h"
#include "nccl/drive.h"
#include "nccl/drive/plan.h"
#include "nccl/net_plugin.h"

namespace heddle::nccl {

// A comm and the registered memory of its messages. The service thread opens and closes it.
struct OpenComm {
  const CommPlan* plan = nullptr;
  void* comm = nullptr;
  void* mhandle = nullptr;
  AnonymousMemory memory;
  uint64_t slot_bytes = 0;

  std::byte* slot(uint64_t index) const { return memory.start() + index * slot_bytes; }
};

// What the streams of a rank share.
struct StreamSetting {
  NetPlugin* plugin = nullptr;
  DriveResult* result = nullptr;
  int in_flight = 1;
  int group = 1;  // messages of one irecv
  bool check = false;
  bool optional_receive = false;
};

class ReceiveStream {
 public:
  ReceiveStream(const StreamSetting& setting, OpenComm& comm);

  void add_iterations(uint64_t count) { target_ += count * comm_.plan->messages; }
  // Posts and tests what it can; true where anything moved. Errors: the plugin's; kTruncated.
  Result<bool> turn();
  bool finished() const { return received_ == target_; }
  uint64_t received() const { return received_; }

 private:
  struct Request {
    void* handle = nullptr;
    uint64_t first = 0;  // its messages
    int count = 0;
    bool done = false;  // by the plugin; the data of an optional completion may still come
    std::array<int, kMaxGroupedReceives> sizes{};
  };

  Result<bool> post();
  Result<bool> test();
  Result<bool> accept_data(const Request& request);
  std::byte* buffer(uint64_t request, int at) const;
  bool is_optional(const Request& request) const;

  StreamSetting setting_;
  OpenComm& comm_;
  uint64_t seed_;
  std::array<Request, kMaxRequests> requests_;
  uint64_t target_ = 0;    // messages
  uint64_t posted_ = 0;    // messages
  uint64_t received_ = 0;  // messages
  uint64_t posted_requests_ = 0;
  uint64_t finished_requests_ = 0;
};

class SendStream {
 public:
  // `receives` are those that the plan's dependencies name.
  SendStream(const StreamSetting& setting, OpenComm& comm,
             const std::vector<ReceiveStream>& receives);

  void add_iterations(uint64_t count) { target_ += count * comm_.plan->messages; }
  Result<bool> turn();
  bool finished() const { return sent_ == target_; }

 private:
  struct Request {
    void* handle = nullptr;
    Nanos posted_at;
  };

  bool may_send(uint64_t index) const;
  Result<bool> post();
  Result<bool> test();

  StreamSetting setting_;
  OpenComm& comm_;
  const std::vector<ReceiveStream>& receives_;
  uint64_t seed_;
  std::array<Request, kMaxRequests> requests_;
  uint64_t target_ = 0;
  uint64_t posted_ = 0;
  uint64_t sent_ = 0;
};

// How many messages fit in the memory of a comm.
uint64_t slots_of(const StreamSetting& setting, bool sends);

// An error that names the call, the comm's peer and NCCL's result.
Unexpected plugin_failure(const char* call, const CommPlan& comm, Status status);

}  // namespace heddle::nccl
