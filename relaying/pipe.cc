// Pipe: see pipe.h.
#include "relaying/pipe.h"

#include <algorithm>

#include "base/check.h"
#include "relaying/params.h"

namespace heddle::relaying {

Result<std::unique_ptr<Pipe>> Pipe::make(engine::Endpoint& from, engine::Endpoint& to,
                                         uint32_t frames) {
  Result<FrameMemory> memory = FrameMemory::make(from, frames);
  if (!memory) return fail(memory.error());
  if (Result<void> shared = memory->share(to); !shared) return fail(shared.error());
  return std::unique_ptr<Pipe>(new Pipe(from, to, std::move(*memory)));
}

Pipe::~Pipe() {
  for (const engine::Operation each : receiving_) from_.wait(each, Nanos::never());
  for (const engine::Operation each : sending_) to_.wait(each, Nanos::never());
}

void Pipe::receive(engine::Connection from) {
  if (broken_) return;
  while (posted_ - freed_ < memory_.frames()) {
    const Result<engine::Operation> posted =
        from_.receive(from, kFrameChannel, memory_.payload(posted_, params::kFrameBytes));
    if (!posted) break;  // closed
    receiving_.push_back(*posted);
    ++posted_;
  }
  while (!receiving_.empty()) {
    const engine::Outcome outcome = from_.peek(receiving_.front());
    if (!outcome.done) break;
    receiving_.pop_front();
    // Closed, or the frame did not fit: the places of what follows are not known.
    broken_ = broken_ || !outcome.ok;
    if (broken_) continue;
    bytes_[arrived_++ % bytes_.size()] = static_cast<uint32_t>(outcome.bytes);
  }
  counts_.most_held = std::max(counts_.most_held, arrived_ - freed_);
}

void Pipe::send(engine::Connection to) {
  while (sent_ < arrived_) {
    const Result<engine::Operation> posted =
        to_.send(to, kFrameChannel, memory_.shared_payload(sent_, bytes_[sent_ % bytes_.size()]));
    if (!posted) break;  // closed
    sending_.push_back(*posted);
    ++sent_;
  }
  while (!sending_.empty()) {
    const engine::Outcome outcome = to_.peek(sending_.front());
    if (!outcome.done) break;
    sending_.pop_front();
    if (!outcome.ok) continue;  // closed: nothing is freed any more
    ++counts_.frames;
    counts_.bytes += bytes_[freed_++ % bytes_.size()];
  }
}

std::span<const std::byte> Pipe::front() const {
  CHECK(waits());
  return memory_.frame(sent_).first(bytes_[sent_ % bytes_.size()]);
}

void Pipe::replace_front(const Frame& frame) {
  CHECK(waits());
  bytes_[sent_ % bytes_.size()] = static_cast<uint32_t>(write_frame(memory_.frame(sent_), frame));
}

void Pipe::add(const Frame& frame) {
  CHECK(empty());
  for (const engine::Operation each : receiving_) from_.wait(each, Nanos::never());
  receiving_.clear();
  posted_ = arrived_;
  bytes_[posted_ % bytes_.size()] =
      static_cast<uint32_t>(write_frame(memory_.frame(posted_), frame));
  ++posted_;
  ++arrived_;
}

}  // namespace heddle::relaying
