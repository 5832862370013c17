// HostFeed: a copy of the folder that processes of another machine record in, kept up to date by
// `heddle agent recordings` there. A machine that is lost is asked again; what it recorded
// meanwhile comes then.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/nanos.h"
#include "base/result.h"
#include "launch/remote_shell.h"
#include "launch/remote_stream.h"
#include "recordings/folder_stream.h"

namespace heddle::monitor {

struct FeedOptions {
  launch::RemoteShell shell;
  std::string host;
  std::string folder;        // there
  std::string copy;          // here; it exists
  std::string node_records;  // there, of the machine's agent; empty: none
};

class HostFeed {
 public:
  explicit HostFeed(FeedOptions options);

  // Takes what has come, by this buffer, and starts the other side where it does not run. An empty
  // buffer: nothing has come.
  void poll(Nanos now, std::span<char> buffer);
  // Asks the other side to end; the destructor waits for that.
  void stop();

  int descriptor() const { return stream_ ? stream_->descriptor() : -1; }
  const std::string& host() const { return options_.host; }
  const std::string& copy() const { return options_.copy; }
  // When it was heard the last time; it is heard now if that is not long ago.
  Nanos heard_at() const { return heard_at_; }
  bool is_heard(Nanos now) const;
  bool was_heard() const { return heard_at_ > Nanos{}; }
  // Why it is not heard; empty: it is, or nothing is known yet.
  const std::string& complaint() const { return complaint_; }
  uint64_t bytes() const { return bytes_; }    // that it sent
  uint64_t losses() const { return losses_; }  // times that it was lost after it was heard

 private:
  void start(Nanos now);
  void take(Nanos now, std::span<char> buffer);
  void lose(Nanos now, const std::string& why);
  bool refuses_nodes(const std::string& said) const;
  std::string in_words(std::string said) const;

  FeedOptions options_;
  bool asks_for_nodes_ = true;  // until the heddle there refuses it
  recordings::FolderReceiver receiver_;
  std::optional<launch::RemoteStream> stream_;
  Nanos heard_at_;
  Nanos retry_at_;
  Nanos retry_wait_;
  std::string complaint_;
  uint64_t bytes_ = 0;
  uint64_t losses_ = 0;
  Nanos sign_at_;  // of life; before the first one, when it was started
};

}  // namespace heddle::monitor
