// Server: see server.h.
#include "measure/server.h"

#include <algorithm>

#include "base/interrupt.h"
#include "measure/params.h"

namespace heddle::measure {

namespace {

// Of a client that comes through relays: its session, and its link.
uint64_t bytes_of_relayed() { return params::kSessionBytes + relaying::LinkOptions{}.bytes(); }

}  // namespace

Server::Server(engine::Endpoint& endpoint, SessionReporter reporter, Bytes test_bytes,
               Access access)
    : endpoint_(endpoint), reporter_(std::move(reporter)), memory_(test_bytes.count) {
  if (access == Access::kDirect) return;
  // Half of the memory is for links, so that clients that come together leave some for tests.
  relayed_.emplace(endpoint, test_bytes.count / 2 / bytes_of_relayed());
}

void Server::accept() {
  if (relayed_) {
    while (auto link = relayed_->accept()) {
      if (auto share = memory_.take(bytes_of_relayed())) {
        welcome(std::move(link), std::move(*share));
      } else {
        ++turned_away_;
      }
    }
    return;
  }
  while (const auto connection = endpoint_.accept(Nanos{})) {
    if (auto share = memory_.take(params::kSessionBytes)) {
      welcome(std::make_unique<engine::DirectLink>(endpoint_, *connection), std::move(*share));
    } else {
      endpoint_.abort(*connection);
      ++turned_away_;
    }
  }
}

void Server::welcome(std::unique_ptr<engine::MessageLink> link, TestMemory::Share share) {
  sessions_.push_back(
      std::make_unique<Session>(std::move(link), reporter_, memory_, std::move(share)));
  ++clients_;
}

bool Server::run(bool once, const std::function<void()>& each_round) {
  bool all_well = true;
  while (interrupted() == 0) {
    const bool busy = std::any_of(sessions_.begin(), sessions_.end(),
                                  [](const auto& session) { return session->busy(); });
    endpoint_.progress(busy ? Nanos{} : millis(200));
    each_round();
    const auto gone = [&all_well](std::unique_ptr<Session>& session) {
      if (session->step()) return false;
      all_well = all_well && !session->failed();
      return true;
    };
    sessions_.erase(std::remove_if(sessions_.begin(), sessions_.end(), gone), sessions_.end());
    // Asked last: it takes a turn of the endpoint, for which a client's echo should not wait.
    accept();
    if (once && clients_ > 0 && sessions_.empty()) break;
  }
  return all_well;
}

}  // namespace heddle::measure
