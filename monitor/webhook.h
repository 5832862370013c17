// Webhook: each change of a job's faults as JSON to an address of HTTP, by the program curl beside
// the watch. A try that fails is made again, a stated number of times.
#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <string>

#include "base/nanos.h"
#include "base/result.h"
#include "launch/background_command.h"
#include "recordings/http_post.h"

namespace heddle::monitor {

// An http or https address, or "@FILE", whose first line is one: it may hold a secret, and other
// users can read a command line. Errors: kInvalid, also for credentials that are not in a file, and
// for a file that is not there. No text of an error contains an address.
Result<recordings::HttpPost> parse_webhook(const std::string& text);

class Webhook {
 public:
  // `warn` gets a sentence for each change that will not arrive.
  Webhook(const recordings::HttpPost& post, std::function<void(const std::string& text)> warn);

  // One is sent at a time, in order; the others wait, up to params::kMostWaiting.
  void add(std::string json);
  // Sends what is due. To be called often.
  void poll(Nanos now);
  bool busy() const { return running_ || !waiting_.empty(); }

 private:
  void start(Nanos now);
  void take(const launch::CommandResult& result, Nanos now);
  void fail_once(const std::string& why, Nanos now);

  std::string settings_;
  std::string shown_;
  std::function<void(const std::string& text)> warn_;
  std::deque<std::string> waiting_;  // the first one is being sent
  std::optional<launch::BackgroundCommand> running_;
  int tries_ = 0;  // of the first one
  Nanos retry_at_;
};

}  // namespace heddle::monitor
