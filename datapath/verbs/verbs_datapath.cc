// See verbs_datapath.h, and datapath/datapath.h for the contract.
#include "datapath/verbs/verbs_datapath.h"

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/log.h"
#include "datapath/verbs/params.h"

namespace heddle::datapath {

using transport::Prediction;
using transport::RegionId;
using transport::TxBurst;

namespace {

Unexpected no_device_memory(const std::string& nic, int error) {
  const std::string what = "cannot register memory of a device with " + nic;
  const std::string instead = "register its mapping, which the processor copies to and from";
  switch (error) {
    case ENOSYS:
      return fail(ErrorCode::kUnavailable, what, "this libibverbs knows no dmabuf",
                  "use rdma-core 34 or newer, or " + instead);
    case EOPNOTSUPP:
      return fail(ErrorCode::kUnavailable, what,
                  "its driver, or this kernel, cannot reach other devices' memory",
                  "use a NIC and a kernel (5.12 or newer) with dmabuf registration, or " + instead);
    case ENOMEM:
      return fail(ErrorCode::kExhausted, what, std::strerror(error),
                  "raise the limit of locked memory (ulimit -l)");
    default:
      return fail(ErrorCode::kInvalid, what, std::strerror(error),
                  "give a dmabuf of the device and a range within it, or " + instead);
  }
}

}  // namespace

Result<std::unique_ptr<VerbsDatapath>> VerbsDatapath::open(const VerbsOptions& options) {
  const Result<VerbsPort> port = find_verbs_port(options);
  if (!port) return fail(port.error());
  return open(options, *port);
}

Result<std::unique_ptr<VerbsDatapath>> VerbsDatapath::open(const VerbsOptions& options,
                                                           const VerbsPort& port) {
  auto udp = UdpDatapath::open(udp_beside_verbs(options, port.choice));
  if (!udp) return fail(std::move(udp).error());
  return open(options, port, std::move(*udp));
}

Result<std::unique_ptr<VerbsDatapath>> VerbsDatapath::open(const VerbsOptions& options,
                                                           const VerbsPort& port,
                                                           std::unique_ptr<UdpDatapath> udp) {
  std::unique_ptr<VerbsDatapath> made(new VerbsDatapath(std::move(udp)));
  if (Result<void> attached = made->attach(options, port); !attached) {
    return fail(attached.error());
  }
  return made;
}

Result<void> VerbsDatapath::attach(const VerbsOptions& options, const VerbsPort& port) {
  const RdmaChoice& choice = port.choice;
  Result<std::unique_ptr<VerbsDevice>> device = VerbsDevice::open(choice, *port.library);
  if (!device) return fail(std::move(device).error());
  device_ = std::move(*device);
  Result<std::unique_ptr<Exchange>> exchange = Exchange::open(inner().local_address());
  if (!exchange) return fail(std::move(exchange).error());
  exchange_ = std::move(*exchange);
  CHECK(getrandom(&secret_, sizeof secret_, 0) == sizeof secret_);
  memory_ = std::make_unique<RegisteredMemory>(*device_);
  ender_ = std::make_unique<QueuePairEnder>(device_);
  if (ender_->descriptor() < 0) {
    return fail(ErrorCode::kExhausted, "cannot open RDMA verbs", "there are no more descriptors",
                "raise the limit of open files (ulimit -n)");
  }
  sender_ = std::make_unique<ChunkSender>(
      *device_, *exchange_, *ender_,
      ChunkSender::Options{.mode = options.mode, .traffic_class = options.traffic_class}, events_);
  receiver_ = std::make_unique<ChunkReceiver>(
      *device_, *exchange_, *ender_,
      ChunkReceiver::Options{.secret = secret_, .traffic_class = options.traffic_class}, events_);
  for (const int descriptor :
       {device_->completion_descriptor(), device_->report_descriptor(),
        exchange_->socket_descriptor(), exchange_->timer_descriptor(), ender_->descriptor()}) {
    if (Result<void> watched = inner().watch_input(descriptor); !watched) return watched;
  }
  const bool reliable = options.mode == RdmaMode::kReliable;
  capabilities_ = inner().capabilities();
  capabilities_.chunk_paths = options.chunk_paths;
  capabilities_.chunk_bytes =
      reliable ? verbs_params::kReliableChunkBytes : verbs_params::kUnreliableChunkBytes;
  capabilities_.reliable_chunks = reliable;
  log_info("RDMA: {} port {}, GID {} ({}), {} queue pairs ({}) to each peer", choice.device,
           choice.port, choice.gid.index, rdma_address_text(choice.gid.address),
           options.chunk_paths, reliable ? "RC" : "UC");
  return {};
}

size_t VerbsDatapath::transmit(std::span<const TxBurst> bursts) {
  unsent_.clear();
  size_t taken = 0;
  const Nanos now = inner().now();
  while (taken < bursts.size()) {
    if (bursts[taken].write != nullptr) {
      send_chunk(now, bursts[taken++]);
      continue;
    }
    // The datagrams up to the next chunk.
    size_t end = taken + 1;
    while (end < bursts.size() && bursts[end].write == nullptr) ++end;
    const size_t count = inner().transmit(bursts.subspan(taken, end - taken));
    for (size_t i = 0; i < count; ++i) {
      const uint32_t lost = inner().unsent(i);
      if (lost == 0) continue;
      unsent_.resize(taken + i + 1);
      unsent_.back() = lost;
    }
    taken += count;
    if (taken < end) break;
  }
  sender_->flush();
  return taken;
}

void VerbsDatapath::send_chunk(Nanos now, const TxBurst& burst) {
  ++own_.datagrams_sent;
  if (burst.payload_bytes == 0) {
    sender_->send(now, burst, nullptr, 0);
    return;
  }
  const Region& region = inner().regions().at(burst.region);
  const RegisteredRange& range = memory_->find(burst.region, region.start, region.bytes);
  if (range.memory == nullptr) {
    sender_->refuse(burst);
    return;
  }
  const std::byte* const from =
      inner().regions().resolve({burst.region, burst.offset, burst.payload_bytes});
  sender_->send(now, burst, from, range.local_key);
}

size_t VerbsDatapath::receive(RxBatch& batch, const Prediction* prediction) {
  if (look_due_ || exchange_->asks() || ender_->has_ended() ||
      ++turns_ >= verbs_params::kTurnsPerLook) {
    look();
  }
  poll_completions();
  inner().receive(batch, prediction);
  batch.event_count = 0;
  while (batch.event_count < RxBatch::kMaxRuns && !events_.empty()) {
    batch.events[batch.event_count++] = events_.pop_front();
  }
  return batch.count;
}

void VerbsDatapath::release(RxBatch& batch) {
  batch.event_count = 0;
  inner().release(batch);
}

void VerbsDatapath::serve() {
  look();
  poll_completions();
}

void VerbsDatapath::look() {
  turns_ = 0;
  look_due_ = false;
  settle();  // before requests that wait for it are replaced
  exchange_->turn(inner().now(), *this);
  if (device_->take_reports()) give_up();
}

void VerbsDatapath::settle() {
  ender_->take_notification();
  sender_->settle();
  receiver_->settle();
  ender_->ended();
}

// The kernel closes the descriptors of a device that is gone: from then on they would end each wait
// at once.
void VerbsDatapath::give_up() {
  inner().ignore_input(device_->report_descriptor());
  inner().ignore_input(device_->completion_descriptor());
  sender_->give_up();
}

void VerbsDatapath::poll_completions() {
  std::array<Completion, verbs_params::kCompletionsACall> done;
  size_t count = 0;
  Nanos now;
  do {
    count = device_->poll(done);
    if (count > 0) now = inner().now();
    for (size_t i = 0; i < count; ++i) {
      if ((done[i].id & 1) == 0) {
        sender_->on_completion(done[i]);
        continue;
      }
      if (done[i].ok) {
        ++own_.datagrams_received;
        own_.payload_placed_bytes += done[i].bytes;
      }
      receiver_->on_completion(now, done[i]);
    }
  } while (count == done.size());
  sender_->flush();
}

void VerbsDatapath::handle_message(const transport::Address& from, const ExchangeMessage& message) {
  if (message.kind == ExchangeKind::kRequest) {
    receiver_->on_request(inner().now(), from, message);
  } else {
    sender_->on_message(from, message);
  }
}

// A completion that came before the queue was armed causes no notification, so it is looked for
// afterwards.
void VerbsDatapath::wait(Nanos until) {
  device_->take_notification();
  device_->arm();
  poll_completions();
  if (!events_.empty()) return;
  inner().wait(until);
  device_->take_notification();
  look_due_ = true;
}

void VerbsDatapath::take_wake() {
  inner().take_wake();
  device_->take_notification();
  device_->arm();
  look_due_ = true;
  poll_completions();
  if (!events_.empty()) inner().wake();
}

Result<RegionId> VerbsDatapath::register_device_memory(const DeviceMemory& memory, size_t bytes) {
  const Result<RegionId> region = inner().register_memory(memory.mapping, bytes);
  if (!region) return region;
  const RegisteredRange range = memory_->add_device(*region, memory, bytes);
  if (range.memory != nullptr) return region;
  inner().unregister_memory(*region);
  return no_device_memory(device_->choice().device, range.error);
}

void VerbsDatapath::unregister_memory(RegionId region) {
  sender_->drop_waiting(region);
  memory_->forget(region);
  inner().unregister_memory(region);
}

transport::MemoryToken VerbsDatapath::token(RegionId id) const {
  const Region& region = inner().regions().at(id);
  if (region.bytes < verbs_params::kLeastRegionBytes) return {};
  const RegisteredRange& range = memory_->find(id, region.start, region.bytes);
  if (range.memory == nullptr || !range.writable) return {};
  return write_token({.address = reinterpret_cast<uintptr_t>(region.start),
                      .remote_key = range.remote_key,
                      .exchange_port = exchange_->port(),
                      .secret = secret_});
}

// What has ended by now is no reason to end a queue pair. A NIC completes the writes of one that
// was broken off at once, and the kernel destroys it long afterwards; where no completions come,
// only that shows that the memory is read no more.
void VerbsDatapath::recall(const transport::RecallRequest& request) {
  poll_completions();
  sender_->recall(request);
  const Nanos end = inner().now() + verbs_params::kFlushWait;
  while (const uint64_t number = sender_->reads(request)) {
    if (inner().now() >= end) ender_->wait_for(number);
    poll_completions();
    settle();
  }
}

void VerbsDatapath::fence(const transport::FenceRequest& request) {
  receiver_->stop(request);
  poll_completions();
  receiver_->finish(request);
  if (request.path == transport::FenceRequest::kEveryPath) sender_->close(request.connection);
}

const DatapathStatistics& VerbsDatapath::statistics() const {
  all_ = inner().statistics();
  all_.datagrams_sent += own_.datagrams_sent;
  all_.datagrams_received += own_.datagrams_received;
  all_.payload_placed_bytes += own_.payload_placed_bytes;
  return all_;
}

}  // namespace heddle::datapath
