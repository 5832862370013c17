// Calls of the net tables over the process's Net: argument checks, and no exception to NCCL.
#include "plugins/nccl/exports/net_calls.h"

#include <array>
#include <exception>
#include <memory>
#include <string>

#include "base/per_process.h"
#include "plugins/nccl/host_log.h"
#include "plugins/nccl/net/net.h"

namespace heddle::nccl::calls {
namespace {

struct ProcessNet {
  Net net{host_sources()};
};

// A child of fork() gets its own: devices, endpoints and comms of the parent are not usable there.
Net& process_net() {
  static constinit PerProcess<ProcessNet> of_process;
  return of_process.get().net;
}

struct Context {
  int traffic_class = kUndefinedTrafficClass;
};

template <typename Body>
Status guarded(Body body) noexcept {
  try {
    return body();
  } catch (const std::exception& error) {
    host_log().warn(std::string("an unexpected error: ") + error.what());
    return kInternalError;
  } catch (...) {
    host_log().warn("an unexpected error");
    return kInternalError;
  }
}

Status missing(const char* what) {
  host_log().warn(std::string("a call without ") + what);
  return kInvalidArgument;
}

HandleBytes handle_bytes(void* handle) {
  return HandleBytes(static_cast<std::byte*>(handle), static_cast<size_t>(kHandleBytes));
}

}  // namespace

Status init(void** context, int traffic_class, Logger log, ProfilerCallback profile) {
  return guarded([&] {
    host_log().set(log);
    set_profiler_callback(profile);
    // finalize() may follow a failed init(), with what was written here.
    if (context != nullptr) *context = nullptr;
    const Status status = process_net().init();
    if (status == kSuccess && context != nullptr) *context = new Context{traffic_class};
    return status;
  });
}

Status finalize(void* context) {
  return guarded([&] {
    // NCCL 2.28 finalizes after a failed init as well; then there is no context.
    if (context == nullptr) return kSuccess;
    delete static_cast<Context*>(context);
    process_net().finalize();
    return kSuccess;
  });
}

int traffic_class_of(const void* context) {
  return context == nullptr ? kUndefinedTrafficClass
                            : static_cast<const Context*>(context)->traffic_class;
}

Status devices(int* count) {
  return guarded([&] {
    if (count == nullptr) return missing("a place for the number of devices");
    *count = process_net().devices();
    return kSuccess;
  });
}

const Device* find_device(int index) {
  const Device* found = nullptr;
  static_cast<void>(guarded([&] {
    found = process_net().device(index);
    if (found == nullptr) host_log().warn("there is no device " + std::to_string(index));
    return kSuccess;
  }));
  return found;
}

Status make_virtual_device(int* index, const int* members, int count) {
  return guarded([&] {
    if (index == nullptr || members == nullptr || count < 1) return missing("members");
    return process_net().make_virtual_device({members, static_cast<size_t>(count)}, *index);
  });
}

Status listen(int device, int traffic_class, void* handle, void** listen_comm) {
  return guarded([&] {
    if (handle == nullptr || listen_comm == nullptr) return missing("a handle or a listen comm");
    ListenComm* opened = nullptr;
    const Status status = process_net().listen(device, traffic_class, handle_bytes(handle), opened);
    *listen_comm = opened;
    return status;
  });
}

Status connect(int device, int traffic_class, void* handle, void** send_comm) {
  return guarded([&] {
    if (handle == nullptr || send_comm == nullptr) return missing("a handle or a send comm");
    Comm* comm = nullptr;
    const Status status = process_net().connect(device, traffic_class, handle_bytes(handle), comm);
    *send_comm = comm;
    return status;
  });
}

Status accept(void* listen_comm, void** recv_comm) {
  return guarded([&] {
    if (listen_comm == nullptr || recv_comm == nullptr) return missing("a listen or receive comm");
    Comm* comm = nullptr;
    const Status status = process_net().accept(*static_cast<ListenComm*>(listen_comm), comm);
    *recv_comm = comm;
    return status;
  });
}

Status reg_mr(void* comm, void* data, size_t size, int type, void** mhandle) {
  return guarded([&] {
    if (comm == nullptr || mhandle == nullptr) return missing("a comm or an mhandle");
    Registration* memory = nullptr;
    const Status status =
        process_net().register_memory(*static_cast<Comm*>(comm), data, size, type, memory);
    *mhandle = memory;
    return status;
  });
}

Status dereg_mr(void* comm, void* mhandle) {
  return guarded([&] {
    if (comm == nullptr) return missing("a comm");
    return process_net().unregister_memory(*static_cast<Comm*>(comm),
                                           static_cast<Registration*>(mhandle));
  });
}

Status isend(void* send_comm, void* data, size_t size, int tag, void* mhandle, void* phandle,
             void** request) {
  return guarded([&] {
    if (request == nullptr) return missing("a request");
    *request = nullptr;  // NCCL may have left kOptionalCompletion in it
    if (send_comm == nullptr) return missing("a send comm");
    Request* posted = nullptr;
    const Status status = static_cast<SendComm*>(static_cast<Comm*>(send_comm))
                              ->send({.data = data,
                                      .bytes = size,
                                      .tag = tag,
                                      .registration = static_cast<Registration*>(mhandle),
                                      .profile = phandle},
                                     posted);
    *request = posted;
    return status;
  });
}

Status irecv(void* recv_comm, const Receive& receive, const size_t* sizes, const int* int_sizes,
             void** request) {
  return guarded([&] {
    if (request == nullptr) return missing("a request");
    *request = nullptr;
    if (recv_comm == nullptr || receive.n < 1 || receive.n > kMaxParts) {
      return missing("a receive comm, or with a wrong number of buffers");
    }
    const auto count = static_cast<size_t>(receive.n);
    std::array<TransferBuffer, kMaxParts> buffers;
    for (size_t i = 0; i < count; ++i) {
      buffers[i] = {.data = receive.data[i],
                    .bytes = sizes != nullptr ? sizes[i] : static_cast<size_t>(int_sizes[i]),
                    .tag = receive.tags[i],
                    .registration = static_cast<Registration*>(receive.mhandles[i]),
                    .profile = receive.phandles != nullptr ? receive.phandles[i] : nullptr};
    }
    Request* posted = nullptr;
    const Status status = static_cast<ReceiveComm*>(static_cast<Comm*>(recv_comm))
                              ->receive({buffers.data(), count}, posted);
    *request = posted;
    return status;
  });
}

Status iflush(void** request) {
  // Host memory needs none: a null request is a flush that is done.
  if (request != nullptr) *request = nullptr;
  return kSuccess;
}

Status test(void* request, int* done, int* sizes) {
  return guarded([&] {
    if (request == nullptr || done == nullptr) return missing("a request or a place for its state");
    bool ended = false;
    Request& posted = *static_cast<Request*>(request);
    const Status status = posted.comm->test(posted, ended, sizes);
    *done = ended ? 1 : 0;
    return status;
  });
}

Status close_comm(void* comm) {
  return guarded([&] {
    delete static_cast<Comm*>(comm);
    return kSuccess;
  });
}

Status close_listen(void* listen_comm) {
  return guarded([&] {
    const std::unique_ptr<ListenComm> closed(static_cast<ListenComm*>(listen_comm));
    if (closed != nullptr) closed->attachment->close_listener(closed->listener);
    return kSuccess;
  });
}

}  // namespace heddle::nccl::calls
