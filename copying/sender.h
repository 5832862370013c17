// Sender: copies files to a receiver at the other end of a connection. Its caller's thread moves
// messages, and one thread reads the disk.
#pragma once

#include <deque>
#include <functional>
#include <memory>

#include "base/thread.h"
#include "copying/exchange.h"
#include "copying/message_memory.h"
#include "copying/source.h"
#include "engine/endpoint.h"

namespace heddle::copying {

class Sender {
 public:
  // Over an open connection, which the caller closes. Errors: kExhausted (memory, threads).
  static Result<std::unique_ptr<Sender>> make(engine::Endpoint& endpoint,
                                              engine::Connection connection, SourceOptions options);
  // Aborts the connection if the copy has not ended.
  ~Sender();

  // To its end, a failure of the whole copy, or a signal (kCancelled). `progress` is called some
  // ten times a second. Failures of single files are reported by SourceOptions::failed, from
  // another thread.
  Result<void> run(const std::function<void(const CopyCounts&)>& progress);
  const CopyCounts& counts() const { return source_.counts(); }

 private:
  Sender(engine::Endpoint& endpoint, engine::Connection connection, SourceOptions options);
  Result<void> open();
  Result<void> read_disk();
  Result<void> post_answer(size_t index);
  Result<void> step();

  engine::Endpoint& endpoint_;
  const engine::Connection connection_;
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
