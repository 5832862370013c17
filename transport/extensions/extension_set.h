// ExtensionSet: the extensions of one connection. It passes each event to those that take it.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <memory>

#include "transport/extensions/extension.h"

namespace heddle::transport {

using ExtensionMaker = std::unique_ptr<Extension> (*)(ConnectionParts& parts);

template <typename E>
std::unique_ptr<Extension> make_extension(ConnectionParts& parts) {
  return std::make_unique<E>(parts);
}

class ExtensionSet {
 public:
  static constexpr size_t kMostExtensions = 8;  // a bit each in by_hook_

  // See Extension.
  static void open_endpoint(Shared& shared);

  explicit ExtensionSet(ConnectionParts& parts);
  ~ExtensionSet();

  // The extension of this class, made if the connection did not need it so far.
  template <typename E>
  E& obtain(ConnectionParts& parts) {
    return static_cast<E&>(obtain(make_extension<E>, parts));
  }
  // The extension of this class; null: the connection does not need it.
  template <typename E>
  E* find() {
    for (std::unique_ptr<Extension>& extension : extensions_) {
      if (E* found = dynamic_cast<E*>(extension.get()); found != nullptr) return found;
    }
    return nullptr;
  }
  template <typename E>
  const E* find() const {
    return const_cast<ExtensionSet*>(this)->find<E>();
  }

  // See Extension.
  void propose(const HandshakeParameters* offered, HandshakeParameters& own,
               std::string& congestion);
  void settle(const HandshakeParameters& own, const HandshakeParameters& peer,
              std::string& congestion);
  void prepare(const HandshakeParameters& peer, OpenPlan& plan);
  // Destroys those that the connection does not need.
  void on_open(Nanos now, const Agreement& agreement);
  void on_close();
  FrameResult on_frame(Nanos now, FrameType type, Reader& reader, const FrameOrigin& from);
  void on_truncated_packet(const ConnectionHeader& header);
  void on_network_error(const NetworkError& error);
  bool transmit(Nanos now, TxBatch& batch) {
    return any_of(Extension::Hook::kTransmit, [&](Extension& e) { return e.transmit(now, batch); });
  }
  bool frames_due(Nanos now) {
    return any_of(Extension::Hook::kFramesDue, [&](Extension& e) { return e.frames_due(now); });
  }
  void write_frames(Nanos now, Writer& writer) {
    each(Extension::Hook::kFrames, [&](Extension& e) { e.write_frames(now, writer); });
  }
  void write_record(ControlRecord& record, Writer& writer);
  void on_acked(const SentBurst& sent, uint32_t first, uint32_t count, bool was_lost) {
    each(Extension::Hook::kAcked, [&](Extension& e) { e.on_acked(sent, first, count, was_lost); });
  }
  void on_lost(const SentBurst& sent, uint32_t first, uint32_t count, events::LossCause cause) {
    each(Extension::Hook::kLost, [&](Extension& e) { e.on_lost(sent, first, count, cause); });
  }
  Nanos next_timeout() {
    Nanos next = Nanos::never();
    each(Extension::Hook::kTimeout, [&](Extension& e) { next = std::min(next, e.next_timeout()); });
    return next;
  }
  void handle_timeout(Nanos now) {
    each(Extension::Hook::kTimeout, [&](Extension& e) { e.handle_timeout(now); });
  }
  void release_memory(Nanos now);
  size_t bytes_held() const;

 private:
  // Calls `visit` for those that implement the hook, in the table's order.
  template <typename Visit>
  void each(Extension::Hook hook, Visit visit) {
    uint32_t left = by_hook_[static_cast<size_t>(hook)];
    for (; left != 0; left &= left - 1) {
      visit(*extensions_[static_cast<size_t>(std::countr_zero(left))]);
    }
  }
  // The same, up to the first for which it is true; false: for none.
  template <typename Visit>
  bool any_of(Extension::Hook hook, Visit visit) {
    uint32_t left = by_hook_[static_cast<size_t>(hook)];
    for (; left != 0; left &= left - 1) {
      if (visit(*extensions_[static_cast<size_t>(std::countr_zero(left))])) return true;
    }
    return false;
  }
  // Of the frame's type; null: there is none.
  Extension* owner(FrameType type);
  void index_hooks();
  Extension& obtain(ExtensionMaker make, ConnectionParts& parts);

  std::array<std::unique_ptr<Extension>, kMostExtensions> extensions_;  // in the table's order
  std::array<uint8_t, static_cast<size_t>(Extension::Hook::kCount)> by_hook_{};  // bits: extensions
};

}  // namespace heddle::transport
