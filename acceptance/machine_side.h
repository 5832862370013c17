// Machine side: what runs on each machine of an acceptance test besides `heddle perf` and `bench`.
// `heddle agent` offers them as commands; their results are text on standard output.
#pragma once

#include <cstdint>
#include <string>

#include "acceptance/rdma_tests.h"
#include "acceptance/report.h"
#include "base/result.h"
#include "lab/socket_tests.h"

namespace heddle::acceptance {

// The port that has an IPv4 address: "device", "mtu_bytes", "rate_bits_per_s" (0: not known), the
// wall clock, "addresses" of its NICs, and what read_own_facts() finds. Errors: kInvalid where no
// port has it; kUnavailable.
Result<Json> facts_of_machine(const std::string& address);

// "nics": counters of this port, of NICs with hardware and of RDMA ports, as nic_counts.h has them;
// "below": the devices below the port.
Json counts_of_machine(const std::string& device);

// Writes a line of counters (port_counters.h) each kMeterInterval, until it is ended or nothing
// reads them; `with_nics`: and counts_of_machine() each kLiveInterval. Errors: kUnavailable.
Result<void> write_counters(const std::string& device, bool with_nics);

// run_rdma_tests(), by the names of its figures. Errors: likewise.
Result<Json> rdma_figures(const RdmaEnds& ends, const RdmaPlan& plan);

// lab::receive_streams(): "bits_per_s", a list. Errors: likewise.
Result<Json> stream_figures(const std::string& address, uint16_t port, size_t count, Nanos limit);

// lab::run_socket_tests(), by the names of its figures.
Result<Json> socket_figures(const std::string& address, uint16_t port, const lab::SocketPlan& plan);

}  // namespace heddle::acceptance
