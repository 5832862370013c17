// The placed-chunk shape of a network (RDMA UC and RC): the NIC writes up to 64 KiB to a remote
// address and delivers 32 immediate bits. Such a datapath carries datagrams as well, on separate
// paths. A write that was declared lost may still land and would corrupt memory. So lost chunks are
// retransmitted as datagrams only, and no buffer completes before every write that may still land
// is fenced: a later write of the same path has arrived (a queue pair keeps order), or the path was
// fenced, which rejects all writes of earlier epochs (the queue pair was recreated). Likewise no
// send completes before its own NIC is done with the buffer: the peer has acknowledged the write or
// a later one of the path, or the write was recalled.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <variant>

#include "base/nanos.h"
#include "transport/address.h"

namespace heddle::transport {

// The largest chunk that a message of 1 GiB can be cut into, by the bits of an immediate (see
// wire/immediate.h).
inline constexpr uint32_t kMaxChunkBytes = 64 * 1024;

// Names a region of memory to a remote NIC: its address and key, as only the datapaths of both
// sides read it.
struct MemoryToken {
  std::array<std::byte, 32> bytes{};
  uint8_t length = 0;  // 0: the region cannot be written remotely
};

// What makes a TxBurst a write: one chunk, without headers, to a place in the peer's memory. Its
// `path` counts the datapath's chunk paths from 0. Chunks of one (connection, path) are delivered
// in order or not at all.
struct ChunkWrite {
  uint32_t from_connection = 0;  // the sender's id: comes back in its NicEvents
  uint32_t to_connection = 0;    // the receiver's id
  uint64_t number = 0;           // of the sender's path; comes back in kSent
  uint32_t epoch = 0;            // of the path; 0 until it is first fenced
  uint32_t immediate = 0;
  MemoryToken token;           // unused where the chunk is empty
  uint64_t remote_offset = 0;  // in the region that the token names
};

enum class NicEventKind : uint8_t {
  kArrived,  // a chunk landed here, and was complete before this event
  kFenced,   // from now on only writes of `epoch` land on this path
  kSent,     // reliable NICs: a write of ours has landed (ok) or its path has failed (not ok);
             // landed is not delivered: the peer's program may have withdrawn the receive
};

// An event of a NIC.
struct NicEvent {
  NicEventKind kind = NicEventKind::kArrived;
  uint32_t connection = 0;  // this side's id
  uint16_t path = 0;        // chunk path: the peer's for kArrived and kFenced, ours for kSent
  bool ok = true;           // kSent
  uint32_t immediate = 0;   // kArrived
  uint32_t bytes = 0;       // kArrived
  uint32_t epoch = 0;       // kFenced; kSent: of the write
  uint64_t number = 0;      // kSent
  Address from;             // kArrived
  Nanos at;                 // kArrived: when
};

// Asks the datapath to reject every write on this chunk path of the peer that does not carry
// `epoch`; answered by a kFenced event. kEveryPath: for all of the connection's, for good: it is
// over.
struct FenceRequest {
  static constexpr uint16_t kEveryPath = UINT16_MAX;
  uint32_t connection = 0;  // this side's id
  uint16_t path = 0;
  uint32_t epoch = 0;
};

// Ends the writes that this side's NIC has not finished on this chunk path; kEveryPath: on all of
// the connection's.
struct RecallRequest {
  static constexpr uint16_t kEveryPath = FenceRequest::kEveryPath;
  uint32_t connection = 0;  // this side's id
  uint16_t path = 0;

  bool covers(const ChunkWrite& write, uint16_t its_path) const {
    return write.from_connection == connection && (path == kEveryPath || path == its_path);
  }
  bool operator==(const RecallRequest&) const = default;
};

// The connection is open: the peer may write to it on chunk paths below `paths`, until all of them
// are fenced for good.
struct WriterAdmission {
  uint32_t connection = 0;  // this side's id
  uint16_t paths = 0;
  Address peer;  // the port does not count: NICs send from their own
};

// What the transport asks of a NIC, in this order.
using NicRequest = std::variant<WriterAdmission, RecallRequest, FenceRequest>;

}  // namespace heddle::transport
