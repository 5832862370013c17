// Agreement: see agreement.h.
#include "collectives/shared_memory/agreement.h"

#include <algorithm>
#include <cstring>

#include "base/log.h"
#include "collectives/shared_memory/pull.h"
#include "engine/seed.h"

namespace heddle::collectives {
namespace {

MemoryAnswer declined(const Error& error, bool same_host = true) {
  return {.step = MemoryAnswer::Step::kDeclined, .same_host = same_host, .why = error.message()};
}

// Whether the kernel lets this process read there.
bool can_pull(const engine::Delivery& from) {
  if (from.process <= 0) return false;
  uint64_t read = 0;
  return pull(from.process, from.parcel.address, reinterpret_cast<std::byte*>(&read),
              sizeof read) &&
         read == from.parcel.proof;
}

void note_pulls(const SharedPair& pair, const engine::Delivery& from) {
  Side& mine = pair.segment.shared().sides[pair.side];
  mine.pulls.store(can_pull(from) ? 1 : 0, std::memory_order_release);
}

}  // namespace

void MemoryOffer::write(std::byte* bytes) const {
  where.write(bytes);
  std::copy(door.begin(), door.end(), bytes + Whereabouts::kBytes);
}

MemoryOffer MemoryOffer::read(const std::byte* bytes) {
  MemoryOffer offer;
  offer.where = Whereabouts::read(bytes);
  std::copy_n(bytes + Whereabouts::kBytes, offer.door.size(), offer.door.begin());
  return offer;
}

Result<MemoryOffer> Neighbourhood::offer() {
  if (!here_) {
    const Result<Whereabouts> found = whereabouts();
    if (!found) return fail(found.error());
    here_ = *found;
  }
  if (!door_.is_open()) {
    Result<engine::Doorway> opened = engine::Doorway::open();
    if (!opened) return fail(opened.error());
    door_ = std::move(*opened);
  }
  return MemoryOffer{*here_, door_.name()};
}

engine::Parcel Neighbourhood::signed_parcel(engine::Parcel parcel) {
  if (proof_ == 0) proof_ = engine::system_seed();
  parcel.address = reinterpret_cast<uint64_t>(&proof_);
  parcel.proof = proof_;
  return parcel;
}

MemoryAnswer Neighbourhood::hand(const MemoryOffer& offer, const engine::Parcel& from,
                                 HandedOver& made) {
  if (!here_) {
    const Result<Whereabouts> found = whereabouts();
    if (!found) return declined(found.error());
    here_ = *found;
  }
  const std::string differs = difference(*here_, offer.where);
  if (!differs.empty()) return {.same_host = here_->host == offer.where.host, .why = differs};
  const int bell = waits_.bell();
  if (bell < 0) return {.same_host = true, .why = "this network cannot be woken by a neighbour"};
  Descriptor memory;
  Result<Segment> segment = Segment::create(memory);
  if (!segment) return declined(segment.error());
  Result<Descriptor> socket = engine::knock(offer.door);
  if (!socket) return declined(socket.error());
  const Result<void> handed =
      engine::hand_over(*socket, signed_parcel(from), {memory.number(), bell});
  if (!handed) return declined(handed.error());
  made.pair.segment = std::move(*segment);
  made.pair.side = 0;
  made.socket = std::move(*socket);
  return {.step = MemoryAnswer::Step::kHandedOver};
}

void Neighbourhood::let_in_all() {
  while (door_.is_open()) {
    Descriptor socket = door_.let_in();
    if (!socket.valid()) break;
    at_door_.push_back(std::move(socket));
  }
  std::vector<Descriptor> waiting;
  for (Descriptor& socket : at_door_) {
    if (!engine::has_handed_over(socket)) {
      waiting.push_back(std::move(socket));
      continue;
    }
    Result<engine::Delivery> delivery = engine::take_over(socket);
    if (!delivery || delivery->descriptors.size() != 2) continue;
    const std::pair key(delivery->parcel.group, delivery->parcel.member);
    guests_[key] = {std::move(*delivery), std::move(socket)};
  }
  at_door_ = std::move(waiting);
}

void Neighbourhood::forget(uint64_t group) {
  std::erase_if(guests_, [group](const auto& guest) { return guest.first.first == group; });
}

MemoryAnswer Neighbourhood::take(uint32_t rank, const engine::Parcel& from, bool pulls,
                                 SharedPair& made) {
  let_in_all();
  const auto found = guests_.find({from.group, rank});
  if (found == guests_.end()) {
    return {.same_host = true, .why = "what the other rank handed over has not come"};
  }
  Guest guest = std::move(found->second);
  guests_.erase(found);
  Result<Segment> segment = Segment::map(guest.delivery.descriptors[0]);
  if (!segment) return declined(segment.error());
  const Result<void> handed = engine::hand_over(guest.socket, signed_parcel(from), {waits_.bell()});
  if (!handed) return declined(handed.error());
  made.segment = std::move(*segment);
  made.side = 1;
  made.process = guest.delivery.process;
  if (pulls) note_pulls(made, guest.delivery);
  made.bell = std::move(guest.delivery.descriptors[1]);
  return {.step = MemoryAnswer::Step::kTaken};
}

MemoryAnswer Neighbourhood::finish(HandedOver& handed, bool pulls, SharedPair& made) {
  Result<engine::Delivery> delivery = engine::take_over(handed.socket);
  if (!delivery) return declined(delivery.error());
  if (delivery->descriptors.size() != 1) {
    return {.same_host = true, .why = "the other rank handed over something else"};
  }
  made = std::move(handed.pair);
  made.process = delivery->process;
  if (pulls) note_pulls(made, *delivery);
  made.bell = std::move(delivery->descriptors[0]);
  return {.step = MemoryAnswer::Step::kTaken};
}

void Neighbourhood::tell_once(const std::string& who, const std::string& why) {
  if (std::exchange(told_, true)) return;
  log_warn("{} are on one host and use the network between them: {}", who, why);
}

}  // namespace heddle::collectives
