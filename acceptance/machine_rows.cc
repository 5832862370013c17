// See machine_rows.h.
#include "acceptance/machine_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "acceptance/params.h"
#include "base/quantity.h"

namespace heddle::acceptance {
namespace {

// An idle GPU lowers the speed of its link, but not the width.
bool is_below(const PcieLink& link) {
  const bool slow = link.speed > 0 && link.speed < link.most_speed;  // 0: not known
  return link.width < link.most_width || (!link.is_gpu && slow);
}

std::string link_text(int width, double speed, bool with_speed) {
  return with_speed ? fmt::format("x{} at {:g} GT/s", width, speed) : fmt::format("x{}", width);
}

Row row_below(const std::string& host, const PcieLink& link) {
  const bool with_speed = !link.is_gpu && link.speed > 0 && link.most_speed > 0;
  Row row{"PCIe links", host,
          fmt::format("{} of {}", link_text(link.width, link.speed, with_speed), link.name),
          fmt::format("{}, its maximum", link_text(link.most_width, link.most_speed, with_speed)),
          Grade::kWarn};
  if (!link.tested) {
    row.measured = fmt::format("{}, below its maximum of {}", row.measured,
                               link_text(link.most_width, link.most_speed, with_speed));
    row.expected = "";  // the test does not depend on it
    row.grade = Grade::kOk;
    row.todo = "nothing for this test, which does not use this NIC";
    return row;
  }
  const bool narrow_slot = link.slot_width > 0 && link.slot_width < link.most_width;
  const bool slow_slot = link.slot_speed > 0 && link.slot_speed < link.most_speed && with_speed;
  row.todo = narrow_slot || slow_slot
                 ? fmt::format(
                       "the port above it has x{} at {:g} GT/s at most: move it on {} to a "
                       "slot that has more, or accept this rate",
                       link.slot_width, link.slot_speed, host)
                 : fmt::format(
                       "reseat {} on {}, and look at its riser and at the slot's lanes and "
                       "speed in the firmware setup: the port above it has more",
                       link.name, host);
  return row;
}

std::string set_text(const ClockState& clock) {
  const Nanos error = nanos(std::llround(clock.error_s * 1e9));
  return fmt::format("set by a program, off by about {}", duration_text(error));
}

}  // namespace

Row silent_row(const std::string& host, const std::string& complaint) {
  return {"machine",
          host,
          fmt::format("does not answer: {}", complaint),
          "it answers",
          Grade::kFail,
          fmt::format("see whether {} is up, and whether logging in to it starts heddle there: "
                      "`heddle doctor`",
                      host)};
}

std::vector<Row> pcie_rows(const std::vector<MachineFacts>& machines) {
  std::vector<Row> rows;
  size_t links = 0;
  for (const MachineFacts& machine : machines) {
    links += machine.links.size();
    for (const PcieLink& link : machine.links) {
      if (is_below(link)) rows.push_back(row_below(machine.name, link));
    }
  }
  const size_t fine = links - rows.size();
  if (fine > 0) {
    rows.push_back({"PCIe links", fmt::format("{} of {} links", fine, links), "at their maximum",
                    "at their maximum"});
  }
  return rows;
}

std::vector<Row> acs_rows(const std::vector<MachineFacts>& machines) {
  std::vector<Row> rows;
  for (const MachineFacts& machine : machines) {
    if (!machine.acs || !machine.acs->has_gpus || machine.acs->redirecting == 0) continue;
    rows.push_back(
        {"ACS redirection", machine.name, acs_text(machine.acs), "no bridge redirects",
         Grade::kWarn,
         fmt::format("switch ACS off in the firmware setup of {}, or as root at each boot on its "
                     "bridges of which `lspci -vvv` shows ReqRedir+ or CmpltRedir+: "
                     "`setpci -s BRIDGE ECAP_ACS+6.w=0`; the kernel's option "
                     "pci=disable_acs_redir=BRIDGE does the same",
                     machine.name)});
  }
  return rows;
}

std::vector<Row> clock_rows(const std::vector<MachineFacts>& machines) {
  const Nanos most = nanos(std::llround(params::kClockError * 1e9));
  const std::string expected =
      fmt::format("set by a program, off by less than {}", duration_text(most));
  std::vector<Row> rows;
  size_t known = 0;
  double worst = 0;  // of those that are fine
  for (const MachineFacts& machine : machines) {
    if (!machine.clock) continue;
    ++known;
    const ClockState& clock = *machine.clock;
    if (clock.synchronized && clock.error_s < params::kClockError) {
      worst = std::max(worst, clock.error_s);
      continue;
    }
    rows.push_back({"clock synchronization", machine.name,
                    clock.synchronized ? set_text(clock) : "no program sets it", expected,
                    Grade::kWarn,
                    fmt::format("start chrony or ntpd on {}, and see by `chronyc tracking` which "
                                "server it follows",
                                machine.name)});
  }
  const size_t fine = known - rows.size();
  if (fine > 0) {
    rows.push_back({"clock synchronization", fmt::format("{} of {} hosts", fine, known),
                    set_text({true, worst}), expected});
  }
  return rows;
}

std::vector<Row> firewall_rows(const std::vector<PlaceFacts>& places) {
  std::vector<Row> rows;
  for (const PlaceFacts& place : places) {
    if (!place.firewall || !may_drop(*place.firewall)) continue;
    rows.push_back({"firewall", place.name, firewall_text(place.firewall),
                    "nothing drops UDP 18700, nor the ports of ranks", Grade::kWarn,
                    fmt::format("allow UDP from the other hosts on {}, all ports; if the stages "
                                "reach and collectives pass, another rule does so",
                                place.name)});
  }
  return rows;
}

std::vector<Row> shared_rows(const MachineFacts& machine) {
  std::vector<Row> rows;
  for (const auto& [name, value] : machine.facts) rows.push_back({name, machine.name, value});
  if (machine.clock) {
    rows.push_back({"clock synchronization", machine.name,
                    machine.clock->synchronized ? set_text(*machine.clock) : "no program sets it"});
  }
  return rows;
}

}  // namespace heddle::acceptance
