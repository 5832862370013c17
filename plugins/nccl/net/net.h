// Net: heddle as a network of NCCL, without the form that a table's version gives it: devices,
// listen comms, comms and memory. One per process; the tables of exports/ call it.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/own_mutex.h"
#include "base/result.h"
#include "engine/endpoint.h"
#include "nccl/types.h"
#include "plugins/nccl/net/attachment.h"
#include "plugins/nccl/net/device.h"
#include "plugins/nccl/net/receive_comm.h"
#include "plugins/nccl/net/send_comm.h"

namespace heddle::nccl {

// Where devices and endpoints come from: the host, or a simulation.
struct NetSources {
  std::function<Result<std::vector<Device>>()> devices;
  // `traffic_class`: the IP traffic class (0 to 255) of what it sends; kUndefinedTrafficClass:
  // none.
  std::function<Result<std::shared_ptr<engine::Endpoint>>(const Device&, int traffic_class)> open;
  Attachment::Numbers numbers;
};
// What an endpoint needs so that links fit: it accepts, and has channels and posts for all comms.
void fit_for_links(engine::Options& options);
// Those of this process: HEDDLE_*, heddle.toml, the host's interfaces.
NetSources host_sources();

// What NCCL holds as a listenComm.
struct ListenComm {
  std::shared_ptr<Attachment> attachment;
  uint64_t listener = 0;
};

class Net {
 public:
  explicit Net(NetSources sources) : sources_(std::move(sources)) {}

  // A communicator begins. Finds the devices when first called. Errors: those of finding them; a
  // later call tries again.
  Status init();
  // A communicator whose init() succeeded has ended. After the last of them, devices without comms
  // are closed: sockets, and the recording of the process.
  void finalize();
  int devices() const;
  // Null: no such device. The pointer stays valid.
  const Device* device(int index) const;
  // Errors: kInvalidArgument.
  Status make_virtual_device(std::span<const int> members, int& index);

  Status listen(int device, int traffic_class, HandleBytes handle, ListenComm*& listen_comm);
  // Null comm: call again with the same handle.
  Status connect(int device, int traffic_class, HandleBytes handle, Comm*& comm);
  Status accept(ListenComm& listen_comm, Comm*& comm);

  // Host memory only. `bytes` may be 0.
  Status register_memory(Comm& comm, void* start, size_t bytes, int type, Registration*& memory);
  Status unregister_memory(Comm& comm, Registration* memory);

 private:
  // One endpoint of a device. Ordered by device.
  struct Place {
    int device = 0;
    int traffic_class = 0;
    int endpoint = 0;
    auto operator<=>(const Place&) const = default;
  };
  using Attachments = std::map<Place, std::shared_ptr<Attachment>>;
  // How many comms a device has given to its endpoints in turn.
  struct Shares {
    uint64_t listens = 0;
    uint64_t connects = 0;
  };

  // How many endpoints the device has; 1 where there is no such device.
  int endpoints(int device) const;
  int next_to_listen(int device);
  int next_to_connect(int device);
  // Opens the device's endpoint when it is first used.
  Result<std::shared_ptr<Attachment>> attachment(const Place& place);

  const NetSources sources_;
  mutable OwnMutex mutex_;
  int communicators_ = 0;
  int physical_ = 0;  // devices that NCCL did not make
  std::vector<std::unique_ptr<Device>> devices_;
  std::vector<std::unique_ptr<Device>> retired_;  // NCCL may still have their names
  Attachments attachments_;
  std::map<int, Shares> shares_;  // by device
};

}  // namespace heddle::nccl
