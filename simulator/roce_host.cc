// A host with RoCE NICs: see roce_host.h.
#include "simulator/roce_host.h"

#include "base/check.h"
#include "base/hash.h"
#include "simulator/params.h"

namespace heddle::simulator {

using roce::QueuePairAddress;
using roce::RoceNic;

namespace {

// In a NIC, numbers of flows are below those of messages.
constexpr uint32_t kFirstMessage = RoceHost::kMessages;

// A queue pair's own port, as drivers derive it from its two numbers.
uint16_t source_port(uint32_t from, uint32_t to) {
  const uint64_t hash = mix_bits(uint64_t{from} << 32 | to);
  return static_cast<uint16_t>(roce::kFirstSourcePort + hash % roce::kSourcePorts);
}

}  // namespace

RoceHost::RoceHost(FlowRun& run, uint32_t host, Network& network, const RoceOptions& options)
    : FlowHost(run, host), network_(network) {
  const std::vector<topology::Nic>& all = network.topology().nics;
  for (NicId nic = 0; nic < all.size(); ++nic) {
    if (all[nic].host != host) continue;
    nics_.push_back(std::make_unique<RoceNic>(network, nic, options, *this));
  }
}

void RoceHost::connect(uint32_t to, FlowHost& peer) {
  open(static_cast<RoceHost&>(peer));
  report_opened(to);
}

// Hosts with several NICs spread their queue pairs over them.
RoceHost::Pair& RoceHost::open(RoceHost& other) {
  const uint32_t to = other.host();
  const auto [found, made] = pairs_.try_emplace(to);
  Pair& pair = found->second;
  if (!made) return pair;
  const size_t number = (host() + to) % nics_.size();
  RoceNic& mine = *nics_[number];
  RoceNic& theirs = *other.nics_[number % other.nics_.size()];
  const uint32_t responder = theirs.add_responder({.from = theirs.nic(),
                                                   .to = mine.nic(),
                                                   .source_port = source_port(to, host()),
                                                   .peer = mine.next_requester()});
  const uint32_t requester = mine.add_requester({.from = mine.nic(),
                                                 .to = theirs.nic(),
                                                 .source_port = source_port(host(), to),
                                                 .peer = responder});
  pair = {number, requester};
  return pair;
}

bool RoceHost::start(uint32_t flow, uint16_t /*channel*/) {
  const topology::Flow& what = workload().flows[flow];
  const Pair& pair = pairs_.at(what.to);
  if (nics_[pair.nic]->requester(pair.requester).failed()) return false;
  nics_[pair.nic]->post(pair.requester, {flow, region_sent(flow), what.bytes.count});
  return true;
}

bool RoceHost::send_message(RoceHost& to, uint32_t message, uint64_t bytes) {
  CHECK(message < kMessages);
  if (message_region_ == transport::kNoRegion)
    message_region_ = register_virtual(0, params::kMostRoceBytes);
  const Pair& pair = open(to);
  if (nics_[pair.nic]->requester(pair.requester).failed()) return false;
  nics_[pair.nic]->post(pair.requester, {kFirstMessage + message, message_region_, bytes});
  return true;
}

void RoceHost::handle_arrived(uint32_t flow, uint64_t offset, const Content& content, bool last) {
  if (flow >= kFirstMessage) {
    if (last) message_user_->handle_message_arrived(flow - kFirstMessage);
    return;
  }
  network_.virtual_memory().write(region_received(flow), offset, content);
  if (last) report_received(flow, true, {});
}

void RoceHost::handle_acked(uint32_t flow) {
  if (flow >= kFirstMessage) return message_user_->handle_message_acked(flow - kFirstMessage);
  report_sent(flow, true, {});
}

void RoceHost::handle_failed(uint32_t flow) {
  if (flow >= kFirstMessage) return message_user_->handle_message_failed(flow - kFirstMessage);
  report_lost(workload().flows[flow].to, ErrorCode::kTimeout);
  report_sent(flow, false, ErrorCode::kTimeout);
}

void RoceHost::add_statistics(transport::ConnectionStatistics& sum) const {
  for (const auto& nic : nics_) nic->add_statistics(sum);
}

void RoceHost::add_counters(RoceCounters& sum) const {
  for (const auto& nic : nics_) nic->add_counters(sum);
}

std::vector<uint64_t> RoceHost::payload_by_path(uint32_t to) const {
  const Pair& pair = pairs_.at(to);
  return {nics_[pair.nic]->requester(pair.requester).counts().bytes};
}

}  // namespace heddle::simulator
