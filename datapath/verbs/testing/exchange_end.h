// ExchangeEnd: a peer's exchange for queue pairs, driven by hand: keeps the messages that come.
#pragma once

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
  // Those that have come since the last call, in order.
  std::vector<ExchangeMessage> take() {
    exchange_->turn({}, *this);
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
