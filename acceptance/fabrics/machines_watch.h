// Links of machines: what the ports of all of them carried, as `heddle agent counters` on each one
// writes it. Private to fabrics/machines.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "acceptance/commands.h"
#include "acceptance/link_watch.h"
#include "acceptance/port_counters.h"

namespace heddle::acceptance {

class MachinesWatch final : public LinkWatch {
 public:
  struct Port {
    Commands::Id counters = 0;
    std::string machine;
    uint32_t link = 0;
    bool forward = true;  // the machine is the link's end a
    size_t read = 0;      // bytes of the output
    PortLoad load{};
  };

  MachinesWatch(Commands& commands, std::vector<Port> ports, size_t links,
                std::function<bool()> interrupted)
      : commands_(commands),
        ports_(std::move(ports)),
        links_(links),
        interrupted_(std::move(interrupted)) {}

  Result<void> look() override;
  Result<std::vector<CarriedLoad>> loads() override;
  Result<std::vector<CarriedLoad>> totals() override;
  Result<void> restart() override;

 private:
  std::vector<CarriedLoad> by_link(CarriedLoad (PortLoad::*load_of)() const) const;
  // Until each machine has written two more lines: the second was read after this call.
  Result<void> catch_up();

  Commands& commands_;
  std::vector<Port> ports_;
  size_t links_;
  std::function<bool()> interrupted_;
};

}  // namespace heddle::acceptance
