// See bpf.h.
#include "datapath/xdp/bpf.h"

#include <linux/bpf.h>
#include <linux/if_link.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "datapath/xdp/params.h"

namespace heddle::datapath {

namespace {

constexpr char kName[] = "heddle_xdp";
constexpr char kLicense[] = "Apache-2.0";        // none of the functions that it calls needs GPL
constexpr uint32_t kAcceptsFragments = 1u << 5;  // BPF_F_XDP_HAS_FRAGS

static_assert(sizeof(bpf_insn) == sizeof(uint64_t));

// The kernel requires that unused bytes are zero.
bpf_attr empty() {
  bpf_attr attributes;
  std::memset(&attributes, 0, sizeof attributes);
  return attributes;
}

int bpf(int command, bpf_attr& attributes) {
  return static_cast<int>(syscall(SYS_bpf, command, &attributes, sizeof attributes));
}

BpfResult made(int descriptor) {
  if (descriptor < 0) return {Descriptor(), errno};
  return {Descriptor(descriptor), 0};
}

uint64_t pointer(const void* address) { return reinterpret_cast<uintptr_t>(address); }

}  // namespace

BpfResult make_socket_map(uint32_t entries) {
  bpf_attr attributes = empty();
  attributes.map_type = BPF_MAP_TYPE_XSKMAP;
  attributes.key_size = sizeof(uint32_t);
  attributes.value_size = sizeof(int);
  attributes.max_entries = entries;
  std::copy_n(kName, sizeof kName, attributes.map_name);
  return made(bpf(BPF_MAP_CREATE, attributes));
}

int put_socket(const Descriptor& map, uint32_t index, int socket) {
  bpf_attr attributes = empty();
  attributes.map_fd = static_cast<uint32_t>(map.number());
  attributes.key = pointer(&index);
  attributes.value = pointer(&socket);
  attributes.flags = BPF_ANY;
  return bpf(BPF_MAP_UPDATE_ELEM, attributes) == 0 ? 0 : errno;
}

BpfResult load_program(std::span<const uint64_t> instructions, bool fragments, std::string& log) {
  bpf_attr attributes = empty();
  attributes.prog_type = BPF_PROG_TYPE_XDP;
  attributes.expected_attach_type = BPF_XDP;
  attributes.insns = pointer(instructions.data());
  attributes.insn_cnt = static_cast<uint32_t>(instructions.size());
  attributes.license = pointer(kLicense);
  attributes.prog_flags = fragments ? kAcceptsFragments : 0;
  std::copy_n(kName, sizeof kName, attributes.prog_name);
  BpfResult result = made(bpf(BPF_PROG_LOAD, attributes));
  if (result.error == 0 || result.error == EPERM) return result;
  // Only then, since the log costs time and may not fit.
  log.assign(xdp_params::kVerifierLogBytes, '\0');
  attributes.log_buf = pointer(log.data());
  attributes.log_size = xdp_params::kVerifierLogBytes;
  attributes.log_level = 1;
  BpfResult again = made(bpf(BPF_PROG_LOAD, attributes));
  log.resize(std::min(log.find('\0'), log.size()));
  return again.error == 0 ? std::move(again) : std::move(result);
}

BpfResult attach_program(const Descriptor& program, uint32_t interface, XdpHook hook) {
  bpf_attr attributes = empty();
  attributes.link_create.prog_fd = static_cast<uint32_t>(program.number());
  attributes.link_create.target_ifindex = interface;
  attributes.link_create.attach_type = BPF_XDP;
  attributes.link_create.flags = hook == XdpHook::kDriver ? XDP_FLAGS_DRV_MODE : XDP_FLAGS_SKB_MODE;
  return made(bpf(BPF_LINK_CREATE, attributes));
}

std::string program_name(uint32_t id) {
  bpf_attr attributes = empty();
  attributes.prog_id = id;
  const BpfResult program = made(bpf(BPF_PROG_GET_FD_BY_ID, attributes));
  if (program.error != 0) return {};
  bpf_prog_info info;
  std::memset(&info, 0, sizeof info);
  attributes = empty();
  attributes.info.bpf_fd = static_cast<uint32_t>(program.descriptor.number());
  attributes.info.info_len = sizeof info;
  attributes.info.info = pointer(&info);
  if (bpf(BPF_OBJ_GET_INFO_BY_FD, attributes) != 0) return {};
  return {info.name, strnlen(info.name, sizeof info.name)};
}

int run_program(const Descriptor& program, std::span<const std::byte> frame) {
  bpf_attr attributes = empty();
  attributes.test.prog_fd = static_cast<uint32_t>(program.number());
  attributes.test.data_in = pointer(frame.data());
  attributes.test.data_size_in = static_cast<uint32_t>(frame.size());
  attributes.test.repeat = 1;
  if (bpf(BPF_PROG_TEST_RUN, attributes) != 0) return -1;
  return static_cast<int>(attributes.test.retval);
}

}  // namespace heddle::datapath
