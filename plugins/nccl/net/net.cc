// Net: see net.h.
#include "plugins/nccl/net/net.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>

#include "plugins/nccl/host_log.h"
#include "plugins/nccl/net/handle.h"
#include "plugins/nccl/params.h"
#include "plugins/nccl/status.h"

namespace heddle::nccl {

void fit_for_links(engine::Options& options) {
  options.transport.accept = true;
  options.transport.max_channels = kLinkChannels;
  options.transport.max_posted = params::net::kMostPosts;
  options.transport.max_connections = params::net::kMostConnections;
}

void Net::finalize() {
  Attachments unused;
  Nanos farewell = params::net::kFarewell;  // for all together
  {
    const OwnMutex::Lock lock = mutex_.lock();
    if (communicators_ == 0 || --communicators_ > 0) return;
    // NCCL counts the devices anew when it loads the plugin again, and makes its own virtual ones.
    retired_.insert(retired_.end(), std::make_move_iterator(devices_.begin() + physical_),
                    std::make_move_iterator(devices_.end()));
    devices_.resize(static_cast<size_t>(physical_));
    // Comms and listen comms hold their attachment; versions before 11 may have some of other
    // communicators.
    for (auto it = attachments_.begin(); it != attachments_.end();) {
      const bool used = it->first.device < physical_ && it->second.use_count() > 1;
      it = used ? std::next(it) : (unused.insert(*it), attachments_.erase(it));
    }
  }
  for (const auto& [key, attachment] : unused) {
    const Nanos deadline = attachment->now() + farewell;
    attachment->wait_closed(deadline);
    farewell = std::max(Nanos{}, deadline - attachment->now());
  }
}

Status Net::init() {
  const OwnMutex::Lock lock = mutex_.lock();
  if (!devices_.empty()) {
    ++communicators_;
    return kSuccess;
  }
  Result<std::vector<Device>> found = sources_.devices();
  if (!found) return report(found.error());
  for (Device& device : *found) {
    std::string line = "device " + std::to_string(devices_.size()) + ": " + device.name + ", " +
                       std::to_string(device.speed_mbits) + " Mb/s";
    if (!device.pci_path.empty()) line += ", " + device.pci_path;
    host_log().info(kLogInit | kLogNet, line);
    devices_.push_back(std::make_unique<Device>(std::move(device)));
  }
  physical_ = static_cast<int>(devices_.size());
  ++communicators_;
  return kSuccess;
}

int Net::devices() const {
  const OwnMutex::Lock lock = mutex_.lock();
  return static_cast<int>(devices_.size());
}

const Device* Net::device(int index) const {
  const OwnMutex::Lock lock = mutex_.lock();
  if (index < 0 || static_cast<size_t>(index) >= devices_.size()) return nullptr;
  return devices_[static_cast<size_t>(index)].get();
}

Status Net::make_virtual_device(std::span<const int> members, int& index) {
  const OwnMutex::Lock lock = mutex_.lock();
  std::vector<Device> all;
  for (const auto& each : devices_) all.push_back(*each);
  const bool valid = !members.empty() && std::ranges::all_of(members, [&](int member) {
    return member >= 0 && static_cast<size_t>(member) < all.size();
  });
  if (!valid) {
    host_log().warn("a virtual device needs members that exist");
    return kInvalidArgument;
  }
  if (members.size() > transport::kMaxNics) {
    host_log().warn("a virtual device has at most " + std::to_string(transport::kMaxNics) +
                    " members");
    return kInvalidUsage;
  }
  devices_.push_back(std::make_unique<Device>(merge(all, {members.begin(), members.end()})));
  index = static_cast<int>(devices_.size()) - 1;
  host_log().info(kLogInit | kLogNet,
                  "device " + std::to_string(index) + ": " + devices_.back()->name + " (virtual)");
  return kSuccess;
}

int Net::endpoints(int index) const {
  const Device* const wanted = device(index);
  return wanted == nullptr ? 1 : std::max(1, wanted->threads);
}

int Net::next_to_listen(int device) {
  const uint64_t count = static_cast<uint64_t>(endpoints(device));
  const OwnMutex::Lock lock = mutex_.lock();
  return static_cast<int>(shares_[device].listens++ % count);
}

// Half a round apart from those that listen: a channel's sends and receives have different threads.
int Net::next_to_connect(int device) {
  const uint64_t count = static_cast<uint64_t>(endpoints(device));
  const OwnMutex::Lock lock = mutex_.lock();
  return static_cast<int>((shares_[device].connects++ + count / 2) % count);
}

Result<std::shared_ptr<Attachment>> Net::attachment(const Place& place) {
  const Device* const wanted = device(place.device);
  if (wanted == nullptr) {
    return fail(ErrorCode::kInvalid, "cannot use device " + std::to_string(place.device),
                "there are " + std::to_string(devices()));
  }
  const OwnMutex::Lock lock = mutex_.lock();
  const auto open = attachments_.find(place);
  if (open != attachments_.end()) return open->second;
  Result<std::shared_ptr<engine::Endpoint>> endpoint = sources_.open(*wanted, place.traffic_class);
  if (!endpoint) return fail(endpoint.error());
  return attachments_[place] =
             std::make_shared<Attachment>(wanted->name, std::move(*endpoint), sources_.numbers);
}

Status Net::listen(int device, int traffic_class, HandleBytes handle, ListenComm*& listen_comm) {
  listen_comm = nullptr;
  Result<std::shared_ptr<Attachment>> open =
      attachment({device, traffic_class, next_to_listen(device)});
  if (!open) return report(open.error());
  const uint64_t listener = (*open)->listen(handle);
  listen_comm = new ListenComm{std::move(*open), listener};
  return kSuccess;
}

Status Net::connect(int device, int traffic_class, HandleBytes handle, Comm*& comm) {
  comm = nullptr;
  std::optional<int> endpoint = connecting_endpoint(handle, endpoints(device));
  if (!endpoint) {
    endpoint = next_to_connect(device);
    set_connecting_endpoint(handle, *endpoint);
  }
  const Result<std::shared_ptr<Attachment>> open = attachment({device, traffic_class, *endpoint});
  if (!open) return report(open.error());
  Result<std::unique_ptr<SendComm>> connected = (*open)->connect(handle);
  if (!connected) return report(connected.error());
  comm = connected->release();
  return kSuccess;
}

Status Net::accept(ListenComm& listen_comm, Comm*& comm) {
  comm = nullptr;
  Result<std::unique_ptr<ReceiveComm>> accepted =
      listen_comm.attachment->accept(listen_comm.listener);
  if (!accepted) return report(accepted.error());
  comm = accepted->release();
  return kSuccess;
}

Status Net::register_memory(Comm& comm, void* start, size_t bytes, int type,
                            Registration*& memory) {
  memory = nullptr;
  if (type != kPointerHost) {
    host_log().warn(
        "cannot register memory of a GPU: heddle uses host memory (ptrSupport says so)");
    return kInvalidUsage;
  }
  if (bytes == 0) {
    memory = new Registration(engine::Memory(), comm.attachment().endpoint());
    return kSuccess;
  }
  Result<engine::Memory> registered = comm.attachment().endpoint().register_memory(start, bytes);
  if (!registered) return report(registered.error());
  memory = new Registration(std::move(*registered), comm.attachment().endpoint());
  return kSuccess;
}

Status Net::unregister_memory(Comm& comm, Registration* memory) {
  if (memory == nullptr) return kSuccess;
  // After an abort NCCL unregisters memory of transfers that are in flight.
  if (memory->in_use()) comm.abandon();
  std::unique_ptr<Registration> owned(memory);
  // A send that could not be withdrawn may still read it; then it stays registered.
  if (owned->in_use()) comm.attachment().keep(std::move(owned));
  return kSuccess;
}

}  // namespace heddle::nccl
