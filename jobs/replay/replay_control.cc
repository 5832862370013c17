// Processes of a replay find each other and agree: see replay_control.h.
#include "jobs/replay/replay_control.h"

#include <cstdlib>
#include <utility>

#include "base/boot_id.h"
#include "base/hash.h"
#include "base/interrupt.h"
#include "collectives/configured.h"
#include "collectives/links.h"
#include "collectives/members.h"
#include "engine/configured.h"
#include "jobs/params.h"

namespace heddle::jobs {
namespace {

using collectives::Data;
using collectives::DataType;

struct Start {
  int64_t at_ns = 0;
  uint64_t boot = 0;  // of the clock, as a hash
};

}  // namespace

Result<std::unique_ptr<ReplayControl>> ReplayControl::meet(const Config& config,
                                                           collectives::MeetOptions options) {
  Result<engine::Options> engine_options = collectives::configured_rank_options(config);
  if (!engine_options) return fail(engine_options.error());
  engine_options->recording = {};
  engine_options->transport.discovery = transport::DiscoveryMode::kNever;
  engine_options->transport.peer_dead_after = params::kResultsPatience;
  engine::NetworkOptions network = engine::configured_network(config);
  network.datapath = engine::DatapathKind::kUdp;  // the job's endpoint has the interface
  options.open_store = collectives::store_opener(*engine_options, network);
  auto endpoint = engine::Endpoint::open(network, *engine_options);
  if (!endpoint) return fail(endpoint.error());
  std::unique_ptr<ReplayControl> made(new ReplayControl());
  made->endpoint_ = std::move(*endpoint);
  Result<collectives::Group> group = collectives::meet(*made->endpoint_, options);
  if (!group) return fail(std::move(group).error());
  made->group_ = std::move(*group);
  auto all =
      collectives::Communicator::create(std::make_shared<collectives::Links>(*made->endpoint_),
                                        collectives::members_of(made->group_));
  if (!all) return fail(all.error());
  made->all_ = std::move(*all);
  return made;
}

Result<void> ReplayControl::finish(const Result<collectives::Request>& request) {
  if (!request) return fail(request.error());
  while (true) {
    const Result<void> ended = all_->wait(*request, params::kSignalLook);
    if (ended || ended.error().code != ErrorCode::kTimeout) return ended;
    if (interrupted() != 0) {
      return fail(ErrorCode::kCancelled, "the workload was stopped", "by a signal");
    }
  }
}

Result<std::vector<transport::Address>> ReplayControl::exchange(uint16_t port) {
  std::vector<uint16_t> ports(group_.size);
  const Result<void> exchanged = finish(all_->all_gather(
      {.input = &port, .output = ports.data(), .count = 1, .type = DataType::kUint16}));
  if (!exchanged) return fail(exchanged.error());
  std::vector<transport::Address> addresses = group_.addresses;
  for (size_t i = 0; i < addresses.size(); ++i) addresses[i].port = ports[i];
  return addresses;
}

// Enough time to notify all processes.
Nanos ReplayControl::lead() const { return millis(20) + millis(1) * group_.size; }

Result<Nanos> ReplayControl::agree_on_start() {
  if (Result<void> met = finish(all_->barrier()); !met) return fail(met.error());
  const Start here{(endpoint_->now() + lead()).count, hash_text(boot_id())};
  Start start = here;
  const Result<void> exchanged = finish(all_->broadcast(
      {.input = &start, .output = &start, .count = sizeof start, .type = DataType::kUint8}, 0));
  if (!exchanged) return fail(exchanged.error());
  // In a namespace of time the clock is another one.
  const bool near = std::abs(start.at_ns - here.at_ns) < params::kSameClock.count;
  return near && start.boot == here.boot ? nanos(start.at_ns) : endpoint_->now() + lead();
}

Result<std::vector<std::string>> ReplayControl::gather(const std::string& mine) {
  const uint64_t length = mine.size();
  std::vector<uint64_t> lengths(group_.size);
  const Result<void> exchanged = finish(all_->all_gather(
      {.input = &length, .output = lengths.data(), .count = 1, .type = DataType::kUint64}));
  if (!exchanged) return fail(exchanged.error());
  std::vector<std::string> all;
  if (group_.rank != 0) {
    const Result<void> sent = finish(
        all_->send({.input = mine.data(), .count = mine.size(), .type = DataType::kUint8}, 0));
    return sent ? Result<std::vector<std::string>>(std::move(all)) : fail(sent.error());
  }
  all.push_back(mine);
  for (uint32_t rank = 1; rank < group_.size; ++rank) {
    std::string& each = all.emplace_back(lengths[rank], '\0');
    const Result<void> got = finish(all_->receive(
        {.output = each.data(), .count = each.size(), .type = DataType::kUint8}, rank));
    if (!got) return fail(got.error());
  }
  return all;
}

}  // namespace heddle::jobs
