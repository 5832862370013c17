// Links of machines: what the ports of all of them carried, as `heddle agent counters` on each one
// writes it. Private to fabrics/machines.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
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
    std::vector<NicCounts> nics{};  // of the machine, as last read
    bool lost = false;              // it writes no more, and is not waited for
  };
  // Called once for a machine that writes no more.
  using Lost = std::function<void(const std::string& machine, const std::string& complaint)>;

  MachinesWatch(Commands& commands, std::vector<Port> ports, size_t links,
                std::function<bool()> interrupted, Lost lost)
      : commands_(commands),
        ports_(std::move(ports)),
        links_(links),
        interrupted_(std::move(interrupted)),
        lost_(std::move(lost)) {}

  Result<void> look() override;
  Result<std::vector<CarriedLoad>> loads() override;
  Result<std::vector<CarriedLoad>> totals() override;
  Result<void> restart() override;
  std::vector<PlaceCounts> nics() override;

 private:
  static void take_nics(std::string_view line, Port& port);
  std::vector<CarriedLoad> by_link(CarriedLoad (PortLoad::*load_of)() const) const;
  // Until each machine has written two more lines: the second was read after this call. Errors:
  // kUnavailable for those that are lost meanwhile.
  Result<void> catch_up();
  Unexpected lose(Port& port, const std::string& complaint);

  Commands& commands_;
  std::vector<Port> ports_;
  size_t links_;
  std::function<bool()> interrupted_;
  Lost lost_;
};

}  // namespace heddle::acceptance
