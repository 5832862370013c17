// What begins an event of NCCL, independent of the version of its profiler interface.
#pragma once

#include <cstddef>
#include <cstdint>

namespace heddle::nccl {

// How much is recorded: the setting nccl.profile.
enum class ProfileLevel : uint8_t {
  kCalls,  // collectives, sends and receives
  kProxy,  // and the proxy's operations, with what they waited for
  kAll,    // and each transfer, kernel, phase and call of the host
};

// A collective, send or receive. Names are NCCL's, or null.
struct CallBegin {
  const char* function = nullptr;
  const char* data_type = nullptr;
  const char* algorithm = nullptr;
  const char* protocol = nullptr;
  uint64_t sequence = 0;
  uint64_t count = 0;
  int root = 0;  // or the peer of a send or receive
  uint8_t channels = 0;
  uint32_t kernels = 0;  // ends of kernels that NCCL will report; 0: not known
  bool is_symmetric = false;
  bool is_copy = false;  // by copy engines: it ends on the host
  uint64_t user_tag = 0;
  // Versions 1 to 3, whose init does not describe the communicator.
  uint64_t comm_hash = 0;
  int rank = -1;
};

struct OpBegin {
  bool is_foreign = false;  // of another process: its call is not known here
  int rank = 0;
  int peer = 0;
  uint8_t channel = 0;
  bool is_send = false;
};

struct KernelBegin {
  uint8_t channel = 0;
  uint64_t timer_ns = 0;
};

struct PhaseBegin {
  uint8_t channel = 0;
  uint8_t phase = 0;
  uint64_t timer_ns = 0;
};

// A communicator, as init describes it.
struct CommunicatorFacts {
  uint64_t hash = 0;  // 0: a later event has it (versions 1 to 3)
  int ranks = 0;      // 0: not known
  int rank = 0;
};

// What the state of an event carries. A version that has none of a kind leaves it 0.
struct StateFacts {
  uint64_t step_bytes = 0;
  uint64_t op_bytes = 0;  // versions 1 to 3: transferred so far
  uint64_t timer_ns = 0;
  const void* net_data = nullptr;
};

}  // namespace heddle::nccl
