// Request: one isend or irecv of NCCL, until test() reports that it is done. A receive has up to
// kMaxParts buffers, each of which meets a message of its own.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/endpoint.h"
#include "plugins/nccl/net/registration.h"
#include "plugins/nccl/net/transfer_profile.h"

namespace heddle::nccl {

class Comm;

inline constexpr int kMaxParts = 8;  // maxRecvs

// What isend() sends, or one buffer of irecv().
struct TransferBuffer {
  void* data = nullptr;
  size_t bytes = 0;
  int tag = 0;
  Registration* registration = nullptr;  // may be null for 0 bytes
  void* profile = nullptr;               // NCCL's phandle
};

struct RequestPart {
  engine::Operation operation;           // none: not posted yet, or done
  Registration* registration = nullptr;  // null: no memory (0 bytes)
  transport::Payload buffer;
  int32_t tag = 0;
  bool done = false;
  uint64_t bytes = 0;  // of the message, once done
  void* profile_parent = nullptr;
  TransferProfile profile;
};

struct Request {
  Comm* comm = nullptr;
  bool busy = false;
  int count = 0;  // of parts
  std::array<RequestPart, kMaxParts> parts;
};

// The requests of one comm. NCCL has at most kMaxRequests in flight for each rank that shares the
// comm, of which there are at most kMaxParts.
class RequestPool {
 public:
  static constexpr size_t kMost = size_t{kMaxRequests} * kMaxParts;

  // Null: all are in use.
  Request* take(Comm& comm) {
    if (free_.empty() && !grow(comm)) return nullptr;
    Request* const request = free_.back();
    free_.pop_back();
    request->busy = true;
    return request;
  }
  void give_back(Request& request) {
    request = {.comm = request.comm};
    free_.push_back(&request);
  }
  template <typename Visit>
  void for_each_busy(Visit visit) {
    for (auto& slab : slabs_) {
      for (Request& request : *slab) {
        if (request.busy) visit(request);
      }
    }
  }

 private:
  static constexpr size_t kSlab = kMaxRequests;
  using Slab = std::array<Request, kSlab>;

  bool grow(Comm& comm) {
    if (slabs_.size() * kSlab >= kMost) return false;
    slabs_.push_back(std::make_unique<Slab>());
    free_.reserve(slabs_.size() * kSlab);
    for (Request& request : *slabs_.back()) {
      request.comm = &comm;
      free_.push_back(&request);
    }
    return true;
  }

  std::vector<std::unique_ptr<Slab>> slabs_;
  std::vector<Request*> free_;
};

}  // namespace heddle::nccl
