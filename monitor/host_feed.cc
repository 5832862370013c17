// See host_feed.h.
#include "monitor/host_feed.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <utility>
#include <vector>

#include "monitor/params.h"

namespace heddle::monitor {

HostFeed::HostFeed(FeedOptions options)
    : options_(std::move(options)), receiver_(options_.copy), retry_wait_(params::kFirstRetry) {}

bool HostFeed::is_heard(Nanos now) const {
  return was_heard() && now - heard_at_ < params::kUnheard;
}

void HostFeed::start(Nanos now) {
  launch::RemoteCommand command;
  command.words = {"heddle", "agent", "recordings", options_.folder};
  Result<launch::RemoteStream> stream =
      launch::RemoteStream::start(options_.shell, options_.host, command);
  if (!stream) {
    complaint_ = stream.error().message();
    retry_at_ = now + retry_wait_;
    return;
  }
  receiver_.restart();
  stream_.emplace(std::move(*stream));
}

void HostFeed::lose(Nanos now) {
  std::string why = stream_->complaint();
  complaint_ = why.empty() ? "its agent has ended" : std::move(why);
  if (receiver_.greeted()) {
    ++losses_;
    retry_wait_ = params::kFirstRetry;
  }
  stream_.reset();
  retry_at_ = now + retry_wait_;
  retry_wait_ = std::min(retry_wait_ * 2, params::kLongestRetry);
}

Result<void> HostFeed::poll(Nanos now) {
  if (refused_) return {};
  if (!stream_) {
    if (now < retry_at_) return {};
    start(now);
    if (!stream_) return {};
  }
  Result<void> taken = take(now);
  if (taken) return taken;
  refused_ = true;
  complaint_ = taken.error().message();
  stream_.reset();
  return taken;
}

Result<void> HostFeed::take(Nanos now) {
  std::vector<char> piece(size_t{256} << 10);
  for (size_t taken = 0; taken < params::kMostAtOnce;) {
    const ssize_t got = read(stream_->descriptor(), piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return {};
    if (got <= 0) {
      lose(now);
      return {};
    }
    const uint64_t before = receiver_.signs_of_life();
    taken += static_cast<size_t>(got);
    bytes_ += static_cast<uint64_t>(got);
    const std::string_view bytes(piece.data(), static_cast<size_t>(got));
    if (Result<void> kept = receiver_.take(bytes); !kept) return kept;
    if (receiver_.signs_of_life() == before) continue;
    heard_at_ = now;
    complaint_.clear();
  }
  return {};
}

}  // namespace heddle::monitor
