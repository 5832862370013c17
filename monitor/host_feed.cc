// See host_feed.h.
#include "monitor/host_feed.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <string_view>
#include <utility>

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
  if (asks_for_nodes_) command.words.emplace_back("--nodes");
  if (asks_for_nodes_ && !options_.node_records.empty()) {
    command.words.insert(command.words.end(), {"--node-records", options_.node_records});
  }
  Result<launch::RemoteStream> stream =
      launch::RemoteStream::start(options_.shell, options_.host, command);
  if (!stream) {
    complaint_ = stream.error().message();
    retry_at_ = now + retry_wait_;
    return;
  }
  receiver_.restart();
  stream_.emplace(std::move(*stream));
  sign_at_ = now;
}

void HostFeed::stop() {
  if (stream_) stream_->stop();
}

bool HostFeed::refuses_nodes(const std::string& said) const {
  return !receiver_.greeted() && asks_for_nodes_ && said.find("--nodes") != std::string::npos;
}

std::string HostFeed::in_words(std::string said) const {
  if (!refuses_nodes(said)) return said;
  return "its heddle is older and sends no recordings of the machine: install this version";
}

void HostFeed::lose(Nanos now, const std::string& why) {
  complaint_ = in_words(why);
  if (refuses_nodes(why)) asks_for_nodes_ = false;
  if (receiver_.greeted()) ++losses_;
  stream_.reset();
  retry_at_ = now + retry_wait_;
  retry_wait_ = std::min(retry_wait_ * 2, params::kLongestRetry);
}

void HostFeed::poll(Nanos now, std::span<char> buffer) {
  if (!stream_) {
    if (now < retry_at_) return;
    start(now);
    if (!stream_) return;
  }
  if (!buffer.empty()) take(now, buffer);
  if (!stream_) return;
  // Of thousands of machines most have sent nothing since the last one did.
  if (buffer.empty() && now - sign_at_ < params::kUnheard) return;
  const std::string said = stream_->complaint();
  const Nanos silent = now - sign_at_;
  if (silent < params::kUnheard) {
    if (!said.empty() && receiver_.greeted()) complaint_ = said;
    return;
  }
  const std::string why =
      said.empty() ? fmt::format("it has sent nothing for {} s", silent / seconds(1)) : said;
  complaint_ = in_words(why);
  if (silent >= params::kSilentStream) lose(now, why);
}

void HostFeed::take(Nanos now, std::span<char> buffer) {
  const auto began = std::chrono::steady_clock::now();
  const auto turn = std::chrono::nanoseconds(params::kTurn.count);
  while (std::chrono::steady_clock::now() - began < turn) {
    const ssize_t got = read(stream_->descriptor(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return;
    if (got <= 0) {
      const std::string why = stream_->complaint();
      lose(now, why.empty() ? "its agent has ended" : why);
      return;
    }
    const uint64_t before = receiver_.signs_of_life();
    bytes_ += static_cast<uint64_t>(got);
    const std::string_view bytes(buffer.data(), static_cast<size_t>(got));
    if (Result<void> kept = receiver_.take(bytes); !kept) {
      lose(now, kept.error().message());
      return;
    }
    if (receiver_.signs_of_life() == before) continue;
    heard_at_ = sign_at_ = now;
    retry_wait_ = params::kFirstRetry;
    complaint_.clear();
  }
}

}  // namespace heddle::monitor
