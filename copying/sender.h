// Sender: copies files to a receiver at the other end of a link, direct or through relays. Its
// caller's thread moves messages, and one thread reads the disk.
#pragma once

#include <deque>
#include <functional>
#include <memory>

#include "base/thread.h"
#include "copying/exchange.h"
#include "copying/message_memory.h"
#include "copying/source.h"
#include "engine/message_link.h"

namespace heddle::copying {

class Sender {
 public:
  // Over an open link, which outlives it. Errors: kExhausted (memory, threads); then the link is
  // aborted.
  static Result<std::unique_ptr<Sender>> make(engine::MessageLink& link, SourceOptions options);
  // Closes the link if the copy has ended, and aborts it otherwise.
  ~Sender();

  // To its end, a failure of the whole copy, or a signal (kCancelled). `progress` is called some
  // ten times a second. Failures of single files are reported by SourceOptions::failed, from
  // another thread.
  Result<void> run(const std::function<void(const CopyCounts&)>& progress);
  const CopyCounts& counts() const { return source_.counts(); }

 private:
  Sender(engine::MessageLink& link, SourceOptions options);
  Result<void> open();
  Result<void> read_disk();
  Result<void> post_answer(size_t index);
  Result<void> step();

  engine::MessageLink& link_;
  Source source_;
  Exchange exchange_;
  MessageMemory content_;
  MessageMemory answers_;
  std::deque<PostedMessage> sending_;
  std::deque<PostedMessage> receiving_;
  Thread disk_;
  bool ended_ = false;
};

}  // namespace heddle::copying
