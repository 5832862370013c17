// MemorySink: keeps the last N events in memory, as structs, for tests and for the output of
// failing runs. It allocates its memory once, in the constructor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/check.h"
#include "events/events.h"

namespace heddle::events {

class MemorySink : public EachSink<MemorySink> {
 public:
  explicit MemorySink(size_t capacity = 4096) : kept_(capacity) { CHECK(capacity > 0); }

  // Number of events received; the last `capacity` of them are kept.
  uint64_t total() const { return total_; }

  // The kept events of one type, oldest first.
  template <typename Event>
  std::vector<Event> all() const {
    std::vector<Event> found;
    each([&found](const AnyEvent& any) {
      if (const auto* event = std::get_if<Event>(&any)) found.push_back(*event);
    });
    return found;
  }

  // The text of every kept event, oldest first.
  std::vector<std::string> texts() const {
    std::vector<std::string> lines;
    each([&lines](const AnyEvent& any) {
      lines.push_back(std::visit([](const auto& event) { return to_text(event); }, any));
    });
    return lines;
  }

  template <typename Event>
  void on_any(const Event& event) {
    kept_[total_ % kept_.size()] = event;
    ++total_;
  }

 private:
  template <typename Visitor>
  void each(Visitor visit) const {
    const uint64_t held = total_ < kept_.size() ? total_ : kept_.size();
    for (uint64_t i = total_ - held; i < total_; ++i) visit(kept_[i % kept_.size()]);
  }

  std::vector<AnyEvent> kept_;
  uint64_t total_ = 0;
};

}  // namespace heddle::events
