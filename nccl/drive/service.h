// Service: what NCCL's service thread does. It opens the comms of a plan, registers memory and
// closes all of it; each function runs on the service thread while the progress thread may be
// running.
#pragma once

#include <cstdint>
#include <vector>

#include "nccl/drive.h"
#include "nccl/drive/comm.h"
#include "nccl/drive/plan.h"

namespace heddle::nccl {

class Service {
 public:
  Service(NetPlugin& plugin, Exchange& exchange, const DriveOptions& options, void* context);
  ~Service() = default;
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  // Listens, exchanges handles, connects and accepts all comms in turn, and registers their memory.
  // Errors: kTimeout, kCancelled, the plugin's and the exchange's.
  Result<void> open(const Plan& plan, const StreamSetting& setting);
  // Registers and deregisters memory with the next comm, as user buffers come and go.
  Result<void> register_once();
  // Closes what is open. Errors: the plugin's first; it goes on.
  Result<void> close();

  std::vector<OpenComm>& sends() { return sends_; }
  std::vector<OpenComm>& receives() { return receives_; }
  uint64_t polls() const { return polls_; }

 private:
  Result<void> listen_all();
  Result<void> poll_until_open();
  Result<bool> poll_connects();
  Result<bool> poll_accepts();
  Result<void> register_all(const StreamSetting& setting);

  struct Handle {
    alignas(16) std::array<char, kHandleBytes> bytes{};
    bool known = false;
  };

  NetPlugin& plugin_;
  Exchange& exchange_;
  const DriveOptions& options_;
  void* context_;
  std::vector<OpenComm> sends_;
  std::vector<OpenComm> receives_;
  std::vector<Handle> handles_;   // of sends_; connect is called with the same buffer each time
  std::vector<void*> listeners_;  // of receives_
  AnonymousMemory scratch_;
  size_t next_scratch_ = 0;
  uint64_t polls_ = 0;
};

// Ends a wait: another rank has published a failure, the caller stops, or time is over.
class Patience {
 public:
  Patience(Exchange& exchange, const DriveOptions& options);
  // To be called between polls; `what` and `todo` are the error's. Errors: kTimeout, kCancelled,
  // and that of the other rank.
  Result<void> look(const std::string& what, const std::string& todo);

 private:
  Exchange& exchange_;
  const DriveOptions& options_;
  Nanos deadline_;
  Nanos next_look_;
};

// The value of a key that another rank publishes. Errors: as look(), and the exchange's.
Result<std::string> await_value(Exchange& exchange, const DriveOptions& options,
                                const std::string& key);

}  // namespace heddle::nccl
