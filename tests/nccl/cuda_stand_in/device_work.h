// What NCCL's host side passes to its kernels, as laid out by NCCL 2.28: the arguments of a launch,
// the connections of a channel and the fields of a point-to-point transfer. Only what the stand-in
// reads has a name; the sizes are checked where they matter.
#pragma once

#include <cstddef>
#include <cstdint>

namespace heddle::cuda_stand_in {

inline constexpr int kLayoutVersion = 22800;  // of ncclGetVersion(), without the patch
inline constexpr int kSteps = 8;              // buffers of a connection
inline constexpr int kSimple = 2;             // index of the protocol in `buffers`
inline constexpr int kPointToPointIndex = 1;  // of a peer's two connections a direction
inline constexpr int kMaxChannels = 64;

// One buffer of a connection, shared with NCCL's proxy thread.
struct FifoSlot {
  int mode;             // 1: `offset` says where the buffer is
  int offset;           // bytes
  std::ptrdiff_t size;  // bytes that the sender wrote
  void* pointer;
};

struct ConnectionInfo {
  char* buffers[3];
  void* registrations[3];
  uint64_t* tail;  // the sender's count of filled buffers
  uint64_t* head;  // the receiver's count of emptied buffers
  int flags;
  int shared;
  int step_bytes;
  void** pointer_exchange;
  uint64_t* argument_exchange;
  FifoSlot* fifo;
  uint64_t step;  // where the next operation starts
  uint64_t last_cleaning;
  struct {
    int type;
    int version;
    void* handle;
    size_t bytes;
    int needs_progress;
  } net_device;
};
static_assert(sizeof(ConnectionInfo) == 152);

struct ChannelPeer {
  ConnectionInfo send[2];
  ConnectionInfo receive[2];
};

struct alignas(16) Channel {
  ChannelPeer** peers;  // by rank
  struct {
    int previous;
    int next;
    int* user_ranks;
    int index;
  } ring;
  int tree[5];
  int collnet_chain[5];
  int collnet_direct[27];
  int nvls[40];
  uint32_t* fifo_done;
  uint64_t work_counter;
};
static_assert(sizeof(Channel) == 368);

struct WorkTimes {
  struct {
    uint64_t counter;
    uint64_t timestamp_ns;
  } events[64];
};

struct KernelCommunicator {
  int rank;
  int ranks;
  int node;
  int nodes;
  int buffer_bytes[3];
  int point_to_point_chunk_bytes;
  int all_nvlink;
  int* dense_to_user_rank;
  const volatile uint32_t* abort_flag;
  Channel* channels;
  int* rank_to_local_rank;
  WorkTimes* started;    // by channel
  WorkTimes* completed;  // by channel
};
static_assert(offsetof(KernelCommunicator, completed) == 80);

struct alignas(16) PointToPointWork {
  char* send_address;
  char* receive_address;
  size_t send_bytes;
  size_t receive_bytes;
  int send_rank;
  int receive_rank;
  uint8_t channels;
  uint8_t first_channel;
  uint8_t send_channels;  // 0: this work sends nothing
  uint8_t receive_channels;
  uint8_t send_chunk;  // see decode_chunk_bytes()
  uint8_t receive_chunk;
  uint8_t flags;  // 1, 2: LL; 4, 8: registered with the NIC; 16, 32: with the peer; 64: profiled
};
static_assert(sizeof(PointToPointWork) == 48);
inline constexpr uint8_t kUnsupportedFlags = 0x3f;
inline constexpr uint8_t kProfiled = 0x40;

struct alignas(16) WorkBatch {
  uint32_t next_jump : 14, next_extends : 1;
  uint32_t work_type : 2, function : 15;  // work_type 0: point to point
  uint32_t offset_base;
  uint64_t offset_bits;  // bit i: a work at offset_base + i * sizeof(work)
};
static_assert(sizeof(WorkBatch) == 16);

struct alignas(16) KernelArguments {
  KernelCommunicator* communicator;
  uint64_t channel_mask;
  uint8_t storage;  // 0: works follow the batches, else they are in `works`
  uint32_t works_mask;
  char* works;
};
static_assert(sizeof(KernelArguments) == 32);

// A chunk size in 8 bits: 3 bits of mantissa with a hidden one, 5 of exponent.
constexpr uint32_t decode_chunk_bytes(uint8_t code) {
  const uint32_t exponent = code >> 3;
  const uint32_t mantissa = (code & 7u) | (exponent != 0 ? 8u : 0u);
  return mantissa << (exponent != 0 ? exponent - 1 : 0);
}
static_assert(decode_chunk_bytes(112) == 64 << 10);

}  // namespace heddle::cuda_stand_in
