// Server: see server.h.
#include "measure/server.h"

#include <algorithm>
#include <optional>

#include "base/interrupt.h"

namespace heddle::measure {

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
    while (const auto connection = endpoint_.accept(Nanos{})) {
      std::optional<TestMemory::Share> share = memory_.take(kSessionBytes);
      if (!share) {
        endpoint_.abort(*connection);
        ++turned_away_;
        continue;
      }
      sessions_.push_back(
          std::make_unique<Session>(endpoint_, *connection, reporter_, memory_, std::move(*share)));
      ++clients_;
    }
    if (once && clients_ > 0 && sessions_.empty()) break;
  }
  return all_well;
}

}  // namespace heddle::measure
