// Thin wrappers of bpf(2) for the AF_XDP datapath: a map of sockets, a program, its link to an
// interface, and names of other programs. Errors are errno values; attachment.cc explains them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/descriptor.h"

namespace heddle::datapath {

// A descriptor, or the reason why there is none.
struct BpfResult {
  Descriptor descriptor;
  int error = 0;  // errno; 0: made
};

// Makes an XSKMAP of `entries` sockets, indexed by receive queue.
BpfResult make_socket_map(uint32_t entries);
// Puts an XDP socket at `index`. Returns errno or 0.
int put_socket(const Descriptor& map, uint32_t index, int socket);

// Loads an XDP program; `instructions` is an array of struct bpf_insn. With `fragments`, it also
// accepts frames in several buffers (Linux 6.0). `log` gets what the verifier says on failure.
BpfResult load_program(std::span<const uint64_t> instructions, bool fragments, std::string& log);

// Where a program runs.
enum class XdpHook : uint8_t { kDriver, kGeneric };

// Attaches the program by a link, which exists as long as a descriptor of it is open.
BpfResult attach_program(const Descriptor& program, uint32_t interface, XdpHook hook);

// The name of a loaded program, as its owner chose; empty if unknown.
std::string program_name(uint32_t id);

// Runs a program on a frame without an interface, for tests: its return code, or -1 (errno).
int run_program(const Descriptor& program, std::span<const std::byte> frame);

}  // namespace heddle::datapath
