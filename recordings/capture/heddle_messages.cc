// See heddle_messages.h.
#include "recordings/capture/heddle_messages.h"

#include "recordings/params.h"

namespace heddle::recordings {

std::optional<CoveredMessage> HeddleMessages::add(const MessageName& name,
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
  open.is_known &= segment.is_known;
  open.coverage.add(segment.offset, segment.end);
  if (!open.coverage.covers(segment.message_bytes)) return std::nullopt;
  const CoveredMessage covered{open.packets, open.is_known};
  complete(at);
  return covered;
}

void HeddleMessages::complete(std::map<MessageName, Open>::iterator open) {
  age_.erase(open->second.serial);
  done_.insert(open->first);
  done_order_.push_back(open->first);
  open_.erase(open);
  if (done_order_.size() <= params::capture::kMostRemembered) return;
  done_.erase(done_order_.front());
  done_order_.pop_front();
}

void HeddleMessages::make_space() {
  if (open_.size() < kMostOpen) return;
  const auto oldest = age_.begin();
  ++dropped_of_[oldest->second.connection];
  open_.erase(oldest->second);
  age_.erase(oldest);
  ++dropped_;
}

uint64_t HeddleMessages::not_known() const {
  uint64_t count = 0;
  for (const auto& [name, open] : open_) count += doubted_.contains(name.connection);
  for (const uint64_t connection : doubted_) {
    if (const auto at = dropped_of_.find(connection); at != dropped_of_.end()) count += at->second;
  }
  return count;
}

}  // namespace heddle::recordings
