// The rows of keys, and which packets without a number were here before.
#include "transport/security/session.h"

#include <utility>

#include "base/check.h"
#include "transport/wire/cursor.h"

namespace heddle::transport {
namespace {

constexpr uint8_t kEpochMask = 0x0f;

}  // namespace

Session::Session(const RingKey& key, const SessionNames& names, bool initiator)
    : protection_(names.protection) {
  std::array<std::byte, 2 * kKeyNonceBytes + 8 + 1> context;
  Writer writer(context);
  writer.put_bytes(names.initiator_nonce).put_bytes(names.acceptor_nonce);
  writer.put(names.initiator_id).put(names.acceptor_id);
  writer.put(static_cast<uint8_t>(names.protection));
  Secret& ours = send_.secret;
  Secret& theirs = receive_.secret;
  hkdf_expand(key.session, "heddle 1 initiator sends", context, initiator ? ours : theirs);
  hkdf_expand(key.session, "heddle 1 acceptor sends", context, initiator ? theirs : ours);
  make_keys(send_, PacketKey::Use::kEncrypt);
  make_keys(receive_, PacketKey::Use::kDecrypt);
}

Session::~Session() {
  wipe(send_.secret);
  wipe(receive_.secret);
  if (next_) wipe(next_->secret);
}

void Session::make_keys(Direction& direction, PacketKey::Use use) const {
  std::array<std::byte, PacketKey::kKeyBytes + PacketKey::kIvBytes> bytes;
  hkdf_expand(direction.secret, "heddle 1 key", {}, bytes);
  const std::span<const std::byte, bytes.size()> all(bytes);
  direction.keys.packet = std::make_unique<PacketKey>(all.first<PacketKey::kKeyBytes>(),
                                                      all.last<PacketKey::kIvBytes>(), use);
  wipe(bytes);
  if (protection_ == Protection::kFull) return;
  std::array<std::byte, HeaderTags::kKeyBytes> tag_key;
  hkdf_expand(direction.secret, "heddle 1 header key", {}, tag_key);
  direction.keys.tags = std::make_unique<HeaderTags>(tag_key);
  wipe(tag_key);
}

// One way: who learns a secret does not learn those before it.
Session::Direction Session::next_of(const Direction& direction, PacketKey::Use use) const {
  Direction next;
  hkdf_expand(direction.secret, "heddle 1 next", {}, next.secret);
  next.epoch = (direction.epoch + 1) & kEpochMask;
  make_keys(next, use);
  return next;
}

PacketKey& Session::send_key(uint32_t packets, uint64_t limit, RetiredKeys& retired) {
  if (encrypted_ > 0 && encrypted_ + packets > limit && proven_) {
    Direction next = next_of(send_, PacketKey::Use::kEncrypt);
    wipe(send_.secret);
    retire(retired);
    send_ = std::move(next);
    wipe(next.secret);
    encrypted_ = 0;
    proven_ = false;
  }
  encrypted_ += packets;
  return *send_.keys.packet;
}

PacketKey* Session::receive_key(uint8_t flags) {
  const Keys* keys = claimed(flags);
  return keys == nullptr ? nullptr : keys->packet.get();
}

HeaderTags* Session::receive_tags(uint8_t flags) {
  const Keys* keys = claimed(flags);
  return keys == nullptr ? nullptr : keys->tags.get();
}

const Session::Keys* Session::claimed(uint8_t flags) {
  const uint8_t epoch = flags >> 4;
  if (epoch == receive_.epoch) return &receive_.keys;
  if (epoch == ((receive_.epoch + kEpochMask) & kEpochMask)) return &previous_;
  if (epoch != ((receive_.epoch + 1) & kEpochMask)) return nullptr;
  if (!next_) next_ = std::make_unique<Direction>(next_of(receive_, PacketKey::Use::kDecrypt));
  return &next_->keys;
}

void Session::note_authentic(uint8_t flags) {
  if (!next_ || flags >> 4 != next_->epoch) return;
  previous_ = std::move(receive_.keys);
  wipe(receive_.secret);
  receive_ = std::move(*next_);
  wipe(next_->secret);
  next_.reset();
}

bool Session::is_new(uint64_t unnumbered) const {
  if (unnumbered > newest_unnumbered_) return true;
  if (unnumbered == 0 || newest_unnumbered_ - unnumbered >= kRemembered) return false;
  const uint64_t at = unnumbered % kRemembered;
  return (seen_[at / 64] >> at % 64 & 1) == 0;
}

void Session::note_unnumbered(uint64_t unnumbered) {
  if (unnumbered > newest_unnumbered_) {
    const uint64_t steps = unnumbered - newest_unnumbered_;
    if (steps >= kRemembered) {
      seen_ = {};
    } else {
      for (uint64_t n = newest_unnumbered_ + 1; n < unnumbered; ++n) {
        seen_[n % kRemembered / 64] &= ~(uint64_t{1} << n % 64);
      }
    }
    newest_unnumbered_ = unnumbered;
  }
  const uint64_t at = unnumbered % kRemembered;
  seen_[at / 64] |= uint64_t{1} << at % 64;
}

}  // namespace heddle::transport
