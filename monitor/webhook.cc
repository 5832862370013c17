// See webhook.h.
#include "monitor/webhook.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <utility>

#include "base/printable.h"
#include "monitor/params.h"

namespace heddle::monitor {
namespace {

constexpr const char* kTodo = "give http://HOST/PATH or https://HOST/PATH, or @FILE with one in it";

// Without its path, which is the secret of many services.
std::string server_of(const std::string& shown) {
  return shown.substr(0, shown.find('/', shown.find("//") + 2));
}

bool holds_credentials(const std::string& url) {
  const size_t begin = url.find("//");
  if (begin == std::string::npos) return false;
  return url.substr(begin + 2, url.find('/', begin + 2) - begin - 2).find('@') != std::string::npos;
}

Result<std::string> first_line_of(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  if (!file || !std::getline(file, line)) {
    return fail(ErrorCode::kInvalid, "cannot read the address of a webhook in " + printable(path),
                file.is_open() ? "it is empty" : std::strerror(errno), kTodo);
  }
  while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.pop_back();
  return line;
}

}  // namespace

Result<recordings::HttpPost> parse_webhook(const std::string& text) {
  std::string url = text;
  if (text.starts_with('@')) {
    Result<std::string> line = first_line_of(text.substr(1));
    if (!line) return fail(std::move(line).error());
    url = std::move(*line);
  } else if (holds_credentials(url)) {
    return fail(ErrorCode::kInvalid, "cannot use the address of a webhook that is given",
                "it has a user or password, and other users can read a command line",
                "write it into a file, and give @FILE");
  }
  Result<recordings::HttpPost> post = recordings::HttpPost::to(url, {});
  if (post) return post;
  return fail(ErrorCode::kInvalid, "cannot use the address of a webhook that is given",
              post.error().why, kTodo);
}

Webhook::Webhook(const recordings::HttpPost& post,
                 std::function<void(const std::string& text)> warn)
    : settings_(post.settings() + "header = \"Content-Type: application/json\"\n"),
      shown_(server_of(post.shown())),
      warn_(std::move(warn)) {}

void Webhook::add(std::string json) {
  if (waiting_.size() < params::kMostWaiting) {
    waiting_.push_back(std::move(json));
    return;
  }
  warn_(fmt::format("{} changes wait for the webhook at {}: one more is left out", waiting_.size(),
                    shown_));
}

void Webhook::poll(Nanos now) {
  if (running_) {
    const std::optional<launch::CommandResult> result = running_->poll(now);
    if (!result) return;
    running_.reset();
    take(*result, now);
  }
  if (!waiting_.empty() && now >= retry_at_) start(now);
}

void Webhook::start(Nanos now) {
  Result<launch::BackgroundCommand> started =
      launch::BackgroundCommand::start({.words = {"curl", "-K", "/dev/fd/3"},
                                        .input = waiting_.front(),
                                        .settings = settings_,
                                        .limit = params::kLongestRequest,
                                        .keep_output = true},
                                       now);
  if (started) {
    running_ = std::move(*started);
  } else {
    fail_once(started.error().message(), now);
  }
}

void Webhook::take(const launch::CommandResult& result, Nanos now) {
  if (result.timed_out) return fail_once("it does not answer", now);
  if (result.exit_status == 127) return fail_once("there is no curl (apt-get install curl)", now);
  if (result.exit_status != 0) return fail_once(result.last_error, now);
  waiting_.pop_front();
  tries_ = 0;
}

void Webhook::fail_once(const std::string& why, Nanos now) {
  if (++tries_ < params::kWebhookTries) {
    retry_at_ = now + params::kFirstRetry * (int64_t{1} << (tries_ - 1));
    return;
  }
  warn_(fmt::format("the webhook at {} got no change after {} tries: {}", shown_, tries_, why));
  waiting_.pop_front();
  tries_ = 0;
  retry_at_ = now;
}

}  // namespace heddle::monitor
