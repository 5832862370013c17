// AbsentRanks: ranks that should connect to this one and have not. After a while each is asked by a
// connection of its own, which its process accepts even where it makes no calls, and closes if the
// communicator has ended there. So one that is gone is not waited for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "collectives/links.h"
#include "collectives/members.h"
#include "engine/endpoint.h"

namespace heddle::collectives {

class AbsentRanks {
 public:
  // Both must outlive it.
  AbsentRanks(Links& links, const Members& members)
      : links_(links), endpoint_(links.endpoint()), members_(members) {}

  void await(uint32_t rank);
  // It has connected, or is known to be gone.
  void forget(uint32_t rank);
  bool any() const { return !awaited_.empty(); }
  // One whose process is gone, and what shows that; it is awaited no more.
  struct Gone {
    uint32_t rank = 0;
    std::string silence;
  };
  std::optional<Gone> poll();
  // When poll() wants to look again by itself.
  Nanos looks_again_at() const;
  void forget_all();

 private:
  struct Awaited {
    uint32_t rank = 0;
    Nanos since;
    engine::Connection probe = 0;
  };
  std::string silence_of(Awaited& awaited, Nanos now);
  std::string ask(Awaited& awaited);

  Links& links_;
  engine::Endpoint& endpoint_;
  const Members& members_;
  std::vector<Awaited> awaited_;
};

}  // namespace heddle::collectives
