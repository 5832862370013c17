// Loopback: see loopback.h. A message is a header and its bytes; requests of a comm finish in
// order.
#include "nccl/testing/loopback/loopback.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>

namespace heddle::nccl::loopback {
namespace {

struct Header {
  uint64_t bytes = 0;
  int64_t tag = 0;
};

struct Comm;

struct Request {
  Comm* comm = nullptr;
  int count = 1;
  int finished = 0;  // messages
  std::array<std::byte*, kMaxGroup> data{};
  std::array<size_t, kMaxGroup> sizes{};  // of a receive: room, then what came
  std::array<int, kMaxGroup> tags{};
  std::array<bool, kMaxGroup> filled{};
};

struct Comm {
  int descriptor = -1;
  bool sends = false;
  Faults faults;
  std::array<Request, kMaxRequests> requests;
  uint64_t posted = 0;
  uint64_t moved = 0;   // requests whose bytes all went or came
  uint64_t tested = 0;  // requests that test has reported
  uint64_t calls = 0;   // of isend or irecv
  uint64_t messages = 0;
  // The message that is moving.
  Header header;
  size_t header_moved = 0;
  size_t bytes_moved = 0;
  int slot = 0;
};

struct Listener {
  std::array<char, kHandleBytes> path{};
  int descriptor = -1;
  int polls = 0;
};

// A connect that has begun keeps its state in the handle's buffer, which the caller keeps.
struct ConnectHandle {
  std::array<char, kHandleBytes - sizeof(int)> path{};
  int polls = 0;
};
static_assert(sizeof(ConnectHandle) == kHandleBytes);

bool is_kth(int k, uint64_t count) { return k > 0 && count % static_cast<uint64_t>(k) == 0; }

// Moves what it can of [moved, size): kSuccess also where nothing could be moved now.
Status move_bytes(const Comm& comm, std::byte* data, size_t size, size_t& moved) {
  while (moved < size) {
    const ssize_t got = comm.sends ? write(comm.descriptor, data + moved, size - moved)
                                   : read(comm.descriptor, data + moved, size - moved);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return kSuccess;
    if (got < 0) return errno == EPIPE ? kRemoteError : kSystemError;
    if (got == 0) return kRemoteError;  // the writer has gone
    moved += static_cast<size_t>(got);
  }
  return kSuccess;
}

// The buffer for the header that came; -1: none has its tag.
int choose_slot(const Request& request, int64_t tag) {
  for (int i = 0; i < request.count; ++i) {
    const auto at = static_cast<size_t>(i);
    if (!request.filled[at] && (request.count == 1 || request.tags[at] == tag)) return i;
  }
  return -1;
}

void finish_message(Comm& comm, Request& request) {
  const auto at = static_cast<size_t>(comm.slot);
  ++comm.messages;
  request.filled[at] = true;
  ++request.finished;
  if (!comm.sends) {
    request.sizes[at] = comm.header.bytes;
    if (is_kth(comm.faults.corrupt, comm.messages) && comm.header.bytes > 0) {
      request.data[at][comm.header.bytes / 2] ^= std::byte{1};
    }
    if (is_kth(comm.faults.shorten, comm.messages) && comm.header.bytes > 0) --request.sizes[at];
  }
  comm.header_moved = 0;
  comm.bytes_moved = 0;
  if (request.finished == request.count) ++comm.moved;
}

Status progress(Comm& comm) {
  while (comm.moved < comm.posted) {
    Request& request = comm.requests[comm.moved % kMaxRequests];
    if (comm.sends && comm.header_moved == 0) comm.header = {request.sizes[0], request.tags[0]};
    const bool has_header = comm.header_moved == sizeof(Header);
    Status status = move_bytes(comm, reinterpret_cast<std::byte*>(&comm.header), sizeof(Header),
                               comm.header_moved);
    if (status != kSuccess || comm.header_moved < sizeof(Header)) return status;
    if (!has_header) {
      comm.slot = comm.sends ? 0 : choose_slot(request, comm.header.tag);
      if (comm.slot < 0) return kInternalError;
      if (comm.header.bytes > request.sizes[static_cast<size_t>(comm.slot)]) return kInternalError;
    }
    status = move_bytes(comm, request.data[static_cast<size_t>(comm.slot)], comm.header.bytes,
                        comm.bytes_moved);
    if (status != kSuccess || comm.bytes_moved < comm.header.bytes) return status;
    finish_message(comm, request);
  }
  return kSuccess;
}

// Null where the comm has no room, or a fault is due.
Request* next_request(Comm& comm) {
  ++comm.calls;
  if (is_kth(comm.faults.null, comm.calls)) return nullptr;
  if (comm.posted - comm.tested == kMaxRequests) return nullptr;
  Request& request = comm.requests[comm.posted % kMaxRequests];
  request = {};
  request.comm = &comm;
  return &request;
}

std::atomic<int>& listeners_made() {
  static std::atomic<int> count{0};
  return count;
}

}  // namespace

Status init() { return static_cast<Status>(read_faults().init); }

Status devices(int* count) {
  *count = read_faults().devices;
  return kSuccess;
}

Status listen(void* handle, void** listen_comm) {
  auto* const made = new Listener;
  made->polls = read_faults().polls;
  snprintf(made->path.data(), sizeof(ConnectHandle::path), "/tmp/heddle_loopback.%d.%d", getpid(),
           listeners_made().fetch_add(1));
  if (mkfifo(made->path.data(), 0600) == 0) {
    made->descriptor = open(made->path.data(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  }
  if (made->descriptor < 0) {
    delete made;
    return kSystemError;
  }
  ConnectHandle written;
  std::copy_n(made->path.begin(), written.path.size(), written.path.begin());
  written.polls = made->polls;
  std::memcpy(handle, &written, sizeof(written));
  *listen_comm = made;
  return kSuccess;
}

Status connect(void* handle, void** send_comm) {
  ConnectHandle known;
  std::memcpy(&known, handle, sizeof(known));
  *send_comm = nullptr;
  if (known.polls > 0) {
    --known.polls;
    std::memcpy(handle, &known, sizeof(known));
    return kSuccess;
  }
  const int descriptor = open(known.path.data(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
  if (descriptor < 0) return kRemoteError;
  if (write(descriptor, "h", 1) != 1) {
    close(descriptor);
    return kSystemError;
  }
  *send_comm = new Comm{.descriptor = descriptor, .sends = true, .faults = read_faults()};
  return kSuccess;
}

Status accept(void* listen_comm, void** recv_comm) {
  auto& listener = *static_cast<Listener*>(listen_comm);
  *recv_comm = nullptr;
  if (listener.polls > 0) {
    --listener.polls;
    return kSuccess;
  }
  char hello = 0;
  const ssize_t got = read(listener.descriptor, &hello, 1);
  if (got < 0 && errno != EAGAIN) return kSystemError;
  if (got <= 0) return kSuccess;  // no writer yet
  *recv_comm = new Comm{.descriptor = listener.descriptor, .faults = read_faults()};
  listener.descriptor = -1;
  return kSuccess;
}

Status reg_mr(void* comm, void* data, size_t /*size*/, int type, void** mhandle) {
  if (comm == nullptr || data == nullptr || type != kPointerHost) return kInvalidArgument;
  *mhandle = data;
  return kSuccess;
}

Status dereg_mr(void* comm, void* mhandle) {
  return comm == nullptr || mhandle == nullptr ? kInvalidArgument : kSuccess;
}

Status isend(void* send_comm, void* data, size_t size, int tag, void* mhandle, void** request) {
  auto& comm = *static_cast<Comm*>(send_comm);
  if (!comm.sends || (size > 0 && mhandle == nullptr)) return kInvalidUsage;
  Request* const made = next_request(comm);
  if (is_kth(comm.faults.unwritten, comm.calls)) return kSuccess;
  *request = made;
  if (made == nullptr) return kSuccess;
  made->data[0] = static_cast<std::byte*>(data);
  made->sizes[0] = size;
  made->tags[0] = tag;
  ++comm.posted;
  return progress(comm);
}

Status irecv(void* recv_comm, int n, void** data, const size_t* sizes, const int* tags,
             void** mhandles, void** request) {
  auto& comm = *static_cast<Comm*>(recv_comm);
  if (comm.sends || n < 1 || n > comm.faults.recvs || mhandles[0] == nullptr) return kInvalidUsage;
  Request* const made = next_request(comm);
  *request = made;
  if (made == nullptr) return kSuccess;
  made->count = n;
  for (int i = 0; i < n; ++i) {
    const auto at = static_cast<size_t>(i);
    made->data[at] = static_cast<std::byte*>(data[i]);
    made->sizes[at] = sizes[i];
    made->tags[at] = tags[i];
  }
  ++comm.posted;
  return kSuccess;
}

Status test(void* request, int* done, int* sizes) {
  auto& tested = *static_cast<Request*>(request);
  Comm& comm = *tested.comm;
  *done = 0;
  const Status status = progress(comm);
  if (status != kSuccess) return status;
  if (tested.finished < tested.count) return kSuccess;
  ++comm.tested;
  if (is_kth(comm.faults.fail, comm.tested)) return kRemoteError;
  const bool reports = sizes != nullptr && comm.faults.silent == 0;
  for (int i = 0; i < tested.count && reports; ++i) {
    sizes[i] = static_cast<int>(tested.sizes[static_cast<size_t>(i)]);
  }
  *done = 1;
  return kSuccess;
}

Status close_comm(void* comm) {
  auto* const closed = static_cast<Comm*>(comm);
  close(closed->descriptor);
  delete closed;
  return kSuccess;
}

Status close_listen(void* listen_comm) {
  auto* const closed = static_cast<Listener*>(listen_comm);
  unlink(closed->path.data());
  if (closed->descriptor >= 0) close(closed->descriptor);
  delete closed;
  return kSuccess;
}

}  // namespace heddle::nccl::loopback
