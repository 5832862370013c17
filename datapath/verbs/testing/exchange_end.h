// ExchangeEnd: a peer's exchange for queue pairs, driven by hand: keeps the messages that come.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/check.h"
#include "datapath/resolve.h"
#include "datapath/verbs/exchange.h"

namespace heddle::datapath {

class ExchangeEnd final : private ExchangeHandler {
 public:
  explicit ExchangeEnd(const char* host = "127.0.0.1") : address_(*resolve(host, 0)) {
    Result<std::unique_ptr<Exchange>> opened = Exchange::open(address_);
    CHECK(opened.has_value());
    exchange_ = std::move(*opened);
    address_.port = exchange_->port();
  }

  Exchange& exchange() { return *exchange_; }
  const transport::Address& address() const { return address_; }
  // What `sender` has sent here since the last call, in order. The kernel may deliver later than a
  // send returns, so a last message behind them is waited for.
  std::vector<ExchangeMessage> take_from(ExchangeEnd& sender) {
    ExchangeMessage last;
    last.nonce = UINT64_MAX;
    sender.exchange().send(address_, last);
    while (messages_.empty() || messages_.back().nonce != last.nonce) exchange_->turn({}, *this);
    messages_.pop_back();
    return std::exchange(messages_, {});
  }

 private:
  void handle_message(const transport::Address& /*from*/, const ExchangeMessage& message) override {
    messages_.push_back(message);
  }
  void handle_silence(uint64_t /*nonce*/) override {}

  transport::Address address_;
  std::unique_ptr<Exchange> exchange_;
  std::vector<ExchangeMessage> messages_;
};

}  // namespace heddle::datapath
