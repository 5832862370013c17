// See heddle_messages.h.
#include "recordings/capture/heddle_messages.h"

namespace heddle::recordings {

std::optional<uint64_t> HeddleMessages::add(const MessageName& name,
                                            const MessageSegment& segment) {
  if (done_.contains(name)) return std::nullopt;
  auto at = open_.find(name);
  if (at == open_.end()) {
    make_space();
    at = open_.try_emplace(name).first;
    at->second.serial = serial_++;
    age_.emplace(at->second.serial, name);
  }
  Open& open = at->second;
  ++open.packets;
  open.coverage.add(segment.offset, segment.end);
  if (!open.coverage.covers(segment.message_bytes)) return std::nullopt;
  const uint64_t packets = open.packets;
  complete(at);
  return packets;
}

void HeddleMessages::complete(std::map<MessageName, Open>::iterator open) {
  age_.erase(open->second.serial);
  done_.insert(open->first);
  done_order_.push_back(open->first);
  open_.erase(open);
  if (done_order_.size() <= kMostRemembered) return;
  done_.erase(done_order_.front());
  done_order_.pop_front();
}

void HeddleMessages::make_space() {
  if (open_.size() < kMostOpen) return;
  const auto oldest = age_.begin();
  open_.erase(oldest->second);
  age_.erase(oldest);
  ++dropped_;
}

}  // namespace heddle::recordings
