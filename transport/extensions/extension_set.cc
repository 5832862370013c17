// The table of extensions, and which of them takes which frame.
#include "transport/extensions/extension_set.h"

#include <algorithm>
#include <span>

#include "transport/connection/parts.h"
#include "transport/extensions/credits.h"
#include "transport/extensions/nic_selection.h"
#include "transport/extensions/path_discovery.h"
#include "transport/extensions/remote_writes.h"
#include "transport/extensions/trimming.h"

namespace heddle::transport {
namespace {

struct Entry {
  ExtensionMaker make;
  std::span<const FrameType> frames;  // that it takes
  void (*open_endpoint)(Shared& shared);
};

template <typename E>
constexpr Entry entry_of() {
  return {make_extension<E>, E::kFrames, E::open_endpoint};
}

// Frames are written and packets sent in this order.
constexpr std::array kExtensions = {
    entry_of<RemoteWrites>(), entry_of<Trimming>(),      entry_of<Credits>(),
    entry_of<NicSelection>(), entry_of<PathDiscovery>(),
};
static_assert(kExtensions.size() <= ExtensionSet::kMostExtensions);

// The places behind the table's stay empty.
template <typename Extensions>
auto of_table(Extensions& extensions) {
  return std::span(extensions).first(kExtensions.size());
}

}  // namespace

void ExtensionSet::open_endpoint(Shared& shared) {
  for (const Entry& entry : kExtensions) entry.open_endpoint(shared);
}

ExtensionSet::ExtensionSet(ConnectionParts& parts) {
  for (size_t i = 0; i < kExtensions.size(); ++i) extensions_[i] = kExtensions[i].make(parts);
  index_hooks();
}

ExtensionSet::~ExtensionSet() = default;

void ExtensionSet::index_hooks() {
  by_hook_ = {};
  for (size_t i = 0; i < kExtensions.size(); ++i) {
    const uint32_t hooks = extensions_[i] ? extensions_[i]->hooks() : 0;
    for (size_t hook = 0; hook < by_hook_.size(); ++hook) {
      if ((hooks >> hook & 1) != 0) by_hook_[hook] |= static_cast<uint8_t>(1u << i);
    }
  }
}

Extension& ExtensionSet::obtain(ExtensionMaker make, ConnectionParts& parts) {
  size_t i = 0;
  while (kExtensions[i].make != make) ++i;
  if (!extensions_[i]) {
    extensions_[i] = make(parts);
    index_hooks();
  }
  return *extensions_[i];
}

Extension* ExtensionSet::owner(FrameType type) {
  for (size_t i = 0; i < kExtensions.size(); ++i) {
    const std::span<const FrameType> frames = kExtensions[i].frames;
    if (std::find(frames.begin(), frames.end(), type) != frames.end()) return extensions_[i].get();
  }
  return nullptr;
}

void ExtensionSet::propose(const HandshakeParameters* offered, HandshakeParameters& own,
                           std::string& congestion) {
  for (auto& extension : of_table(extensions_)) extension->propose(offered, own, congestion);
}

void ExtensionSet::settle(const HandshakeParameters& own, const HandshakeParameters& peer,
                          std::string& congestion) {
  for (auto& extension : of_table(extensions_)) extension->settle(own, peer, congestion);
}

void ExtensionSet::prepare(const HandshakeParameters& peer, OpenPlan& plan) {
  for (auto& extension : of_table(extensions_)) extension->prepare(peer, plan);
}

void ExtensionSet::on_open(Nanos now, const Agreement& agreement) {
  for (auto& extension : of_table(extensions_)) {
    extension->on_open(now, agreement);
    if (!extension->needed()) extension.reset();
  }
  index_hooks();
}

void ExtensionSet::on_close() {
  for (auto& extension : of_table(extensions_)) {
    if (extension) extension->on_close();
  }
}

FrameResult ExtensionSet::on_frame(Nanos now, FrameType type, Reader& reader,
                                   const FrameOrigin& from) {
  Extension* extension = owner(type);
  return extension == nullptr ? kMalformedFrame : extension->on_frame(now, type, reader, from);
}

void ExtensionSet::write_record(ControlRecord& record, Writer& writer) {
  Extension* extension = owner(record.type);
  CHECK(extension != nullptr);
  extension->write_record(record, writer);
}

void ExtensionSet::on_truncated_packet(const ConnectionHeader& header) {
  for (auto& extension : of_table(extensions_)) {
    if (extension) extension->on_truncated_packet(header);
  }
}

void ExtensionSet::on_network_error(const NetworkError& error) {
  for (auto& extension : of_table(extensions_)) {
    if (extension) extension->on_network_error(error);
  }
}

void ExtensionSet::release_memory(Nanos now) {
  for (auto& extension : of_table(extensions_)) {
    if (extension) extension->release_memory(now);
  }
}

size_t ExtensionSet::bytes_held() const {
  size_t total = 0;
  for (const auto& extension : extensions_) total += extension ? extension->bytes_held() : 0;
  return total;
}

}  // namespace heddle::transport
