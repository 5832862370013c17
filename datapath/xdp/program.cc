// See program.h. The instruction set is described in the kernel's
// Documentation/bpf/standardization.
#include "datapath/xdp/program.h"

#include <arpa/inet.h>
#include <linux/bpf.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>
#include <utility>

#include "base/check.h"
#include "datapath/udp/socket_address.h"
#include "transport/engine_share.h"

namespace heddle::datapath {

using transport::Address;

namespace {

constexpr int kEthernet = 14;
constexpr uint16_t kIpv4 = 0x0800;
constexpr uint16_t kIpv6 = 0x86dd;
constexpr uint16_t kVlan = 0x8100;
constexpr uint16_t kServiceVlan = 0x88a8;
constexpr int kUdp = 17;

enum Register : uint8_t { kR0, kR1, kR2, kR3, kR4, kR5, kR6 };
// The roles of registers in the program.
constexpr Register kContext = kR6;
constexpr Register kData = kR2;
constexpr Register kEnd = kR3;
constexpr Register kBound = kR4;
constexpr Register kValue = kR5;

// Collects instructions; jumps go to labels, which may be placed later.
class Assembler {
 public:
  using Label = size_t;

  Label label() {
    labels_.push_back(0);
    return labels_.size() - 1;
  }
  void place(Label label) { labels_[label] = code_.size(); }

  void move(Register to, Register from) { add(BPF_ALU64 | BPF_MOV | BPF_X, to, from, 0, 0); }
  void set(Register to, int value) { add(BPF_ALU64 | BPF_MOV | BPF_K, to, kR0, 0, value); }
  void advance(Register to, int value) { add(BPF_ALU64 | BPF_ADD | BPF_K, to, kR0, 0, value); }
  void multiply(Register to, int value) { add(BPF_ALU64 | BPF_MUL | BPF_K, to, kR0, 0, value); }
  void remainder(Register to, int value) { add(BPF_ALU64 | BPF_MOD | BPF_K, to, kR0, 0, value); }
  void add_register(Register to, Register from) {
    add(BPF_ALU64 | BPF_ADD | BPF_X, to, from, 0, 0);
  }
  void mask(Register to, int value) { add(BPF_ALU64 | BPF_AND | BPF_K, to, kR0, 0, value); }
  void load(Register to, Register from, int offset, uint8_t size) {
    add(static_cast<uint8_t>(BPF_LDX | BPF_MEM | size), to, from, offset, 0);
  }
  void load_map(Register to, int map) {
    add(BPF_LD | BPF_DW | BPF_IMM, to, static_cast<Register>(BPF_PSEUDO_MAP_FD), 0, map);
    add(0, kR0, kR0, 0, 0);
  }
  void call(int function) { add(BPF_JMP | BPF_CALL, kR0, kR0, 0, function); }
  void exit() { add(BPF_JMP | BPF_EXIT, kR0, kR0, 0, 0); }
  void jump(Label to) { jump_by(BPF_JMP | BPF_JA, kR0, kR0, 0, to); }
  void jump_if_above(Register one, Register other, Label to) {
    jump_by(BPF_JMP | BPF_JGT | BPF_X, one, other, 0, to);
  }
  void jump_if_below(Register one, int value, Label to) {
    jump_by(BPF_JMP | BPF_JLT | BPF_K, one, kR0, value, to);
  }
  // Compares the lower 32 bits.
  void jump_if_equal(Register one, uint32_t value, Label to) {
    jump_by(BPF_JMP32 | BPF_JEQ | BPF_K, one, kR0, static_cast<int>(value), to);
  }
  void jump_unless_equal(Register one, uint32_t value, Label to) {
    jump_by(BPF_JMP32 | BPF_JNE | BPF_K, one, kR0, static_cast<int>(value), to);
  }

  std::vector<uint64_t> finish() {
    for (const auto& [at, label] : jumps_) {
      code_[at].off = static_cast<int16_t>(labels_[label] - at - 1);
    }
    std::vector<uint64_t> words(code_.size());
    std::memcpy(words.data(), code_.data(), words.size() * sizeof(uint64_t));
    return words;
  }

 private:
  void add(uint8_t code, Register to, Register from, int offset, int value) {
    bpf_insn instruction{};
    instruction.code = code;
    instruction.dst_reg = to & 0xf;
    instruction.src_reg = from & 0xf;
    instruction.off = static_cast<int16_t>(offset);
    instruction.imm = value;
    code_.push_back(instruction);
  }
  void jump_by(uint8_t code, Register one, Register other, int value, Label to) {
    jumps_.emplace_back(code_.size(), to);
    add(code, one, other, 0, value);
  }

  std::vector<bpf_insn> code_;
  std::vector<size_t> labels_;
  std::vector<std::pair<size_t, Label>> jumps_;
};

struct Labels {
  Assembler::Label pass;
  Assembler::Label four_matches;
  Assembler::Label six_matches;
};

// kBound: the end of `bytes` from kData on; goes to `shorter` with frames that end before.
void require_bytes(Assembler& code, int bytes, Assembler::Label shorter) {
  code.move(kBound, kData);
  code.advance(kBound, bytes);
  code.jump_if_above(kBound, kEnd, shorter);
}

void require_port(Assembler& code, int at, uint16_t port, const Labels& labels) {
  code.load(kValue, kData, at, BPF_H);
  code.jump_unless_equal(kValue, htons(port), labels.pass);
}

// kData points to the Ethernet header, or to where it would be if there were no tags.
void match_ipv4(Assembler& code, uint16_t port, const std::vector<Address>& addresses,
                const Labels& labels) {
  require_bytes(code, kEthernet + 20 + 8, labels.pass);
  code.load(kValue, kData, kEthernet, BPF_B);
  code.jump_unless_equal(kValue, 0x45, labels.pass);
  code.load(kValue, kData, kEthernet + 9, BPF_B);
  code.jump_unless_equal(kValue, kUdp, labels.pass);
  code.load(kValue, kData, kEthernet + 6, BPF_H);
  code.mask(kValue, htons(0x3fff));
  code.jump_unless_equal(kValue, 0, labels.pass);
  require_port(code, kEthernet + 20 + 2, port, labels);
  code.load(kValue, kData, kEthernet + 16, BPF_W);
  for (const Address& address : addresses) {
    if (!is_ipv4(address)) continue;
    uint32_t host = 0;
    std::memcpy(&host, address.host.data() + 12, sizeof host);
    code.jump_if_equal(kValue, host, labels.four_matches);
  }
  code.jump(labels.pass);
}

void match_ipv6(Assembler& code, uint16_t port, const std::vector<Address>& addresses,
                const Labels& labels) {
  require_bytes(code, kEthernet + 40 + 8, labels.pass);
  code.load(kValue, kData, kEthernet + 6, BPF_B);
  code.jump_unless_equal(kValue, kUdp, labels.pass);
  require_port(code, kEthernet + 40 + 2, port, labels);
  for (const Address& address : addresses) {
    if (is_ipv4(address)) continue;
    const Assembler::Label next = code.label();
    for (int word = 0; word < 4; ++word) {
      uint32_t part = 0;
      std::memcpy(&part, address.host.data() + 4 * word, sizeof part);
      code.load(kValue, kData, kEthernet + 24 + 4 * word, BPF_W);
      code.jump_unless_equal(kValue, part, next);
    }
    code.jump(labels.six_matches);
    code.place(next);
  }
  code.jump(labels.pass);
}

bool has(const std::vector<Address>& addresses, bool ipv4) {
  return std::ranges::any_of(addresses, [=](const Address& each) { return is_ipv4(each) == ipv4; });
}

// kData points to the datagram's payload. kValue becomes the index that transport::engine_of()
// returns, or any where it returns none.
void find_engine(Assembler& code, uint8_t engines) {
  const int mask = static_cast<int>(transport::EngineShare{.count = engines}.mask());
  const Assembler::Label any = code.label();
  const Assembler::Label init = code.label();
  const Assembler::Label parity = code.label();
  const Assembler::Label id = code.label();
  const Assembler::Label found = code.label();
  const auto byte_at = [&](Register to, size_t at) {
    require_bytes(code, static_cast<int>(at) + 1, any);
    code.load(to, kData, static_cast<int>(at), BPF_B);
  };
  require_bytes(code, transport::kEngineReadableBytes, any);
  code.load(kValue, kData, 0, BPF_B);
  code.mask(kValue, 0x0f);
  code.jump_if_equal(kValue, transport::kEngineInitType, init);
  code.jump_if_equal(kValue, transport::kEngineParityType, parity);
  code.load(kValue, kData, transport::kEngineIdAt, BPF_B);
  code.jump(id);
  code.place(parity);
  code.load(kValue, kData, transport::kEngineParityKindAt, BPF_B);
  code.jump_if_equal(kValue, 0, any);
  byte_at(kValue, transport::kEngineParityIdAt);
  code.place(id);
  code.mask(kValue, mask);
  code.jump_if_below(kValue, engines, found);
  code.jump(any);
  code.place(init);
  byte_at(kValue, transport::kEngineInitPortAt);
  code.load(kR0, kData, transport::kEngineIdAt, BPF_B);
  code.add_register(kValue, kR0);
  code.remainder(kValue, engines);
  code.jump(found);
  code.place(any);
  code.set(kValue, 0);
  code.place(found);
}

}  // namespace

std::vector<uint64_t> steering_program(const SteeringTarget& target, uint16_t port,
                                       const std::vector<Address>& addresses) {
  // The verifier rejects instructions that nothing reaches.
  CHECK(!addresses.empty() && addresses.size() <= kMaxProgramAddresses);
  Assembler code;
  const Labels labels{code.label(), code.label(), code.label()};
  const Assembler::Label four = code.label();
  const Assembler::Label six = code.label();
  code.move(kContext, kR1);
  code.load(kData, kContext, offsetof(xdp_md, data), BPF_W);
  code.load(kEnd, kContext, offsetof(xdp_md, data_end), BPF_W);
  require_bytes(code, kEthernet, labels.pass);
  for (int tags = 0;; ++tags) {
    code.load(kValue, kData, kEthernet - 2, BPF_H);
    code.jump_if_equal(kValue, htons(kIpv4), four);
    code.jump_if_equal(kValue, htons(kIpv6), six);
    if (tags == 2) break;
    const Assembler::Label tagged = code.label();
    code.jump_if_equal(kValue, htons(kVlan), tagged);
    code.jump_unless_equal(kValue, htons(kServiceVlan), labels.pass);
    code.place(tagged);
    code.advance(kData, 4);
    require_bytes(code, kEthernet, labels.pass);
  }
  code.jump(labels.pass);
  code.place(four);
  match_ipv4(code, port, addresses, labels);
  code.place(six);
  match_ipv6(code, port, addresses, labels);
  const bool both = has(addresses, true) && has(addresses, false);
  const Assembler::Label redirect = code.label();
  if (has(addresses, true)) {
    code.place(labels.four_matches);
    code.advance(kData, kEthernet + 20 + 8);
    if (both) code.jump(redirect);
  }
  if (has(addresses, false)) {
    code.place(labels.six_matches);
    code.advance(kData, kEthernet + 40 + 8);
  }
  code.place(redirect);
  if (target.engines > 1) find_engine(code, target.engines);
  code.load(kR2, kContext, offsetof(xdp_md, rx_queue_index), BPF_W);
  if (target.engines > 1) {
    code.multiply(kR2, target.engines);
    code.add_register(kR2, kValue);
  }
  code.load_map(kR1, target.map);
  code.set(kR3, XDP_PASS);  // returned for a place without a socket
  code.call(BPF_FUNC_redirect_map);
  code.exit();
  code.place(labels.pass);
  code.set(kR0, XDP_PASS);
  code.exit();
  return code.finish();
}

}  // namespace heddle::datapath
