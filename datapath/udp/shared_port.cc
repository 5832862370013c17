// See shared_port.h. SO_REUSEPORT lets every process of this user join a port, so the first socket
// is bound without it: of two programs, the second fails as with a port that is not shared.
#include "datapath/udp/shared_port.h"

#include <linux/filter.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "transport/engine_share.h"

namespace heddle::datapath {
namespace {

using transport::EngineShare;

// Attaches the program that the kernel runs on each datagram's payload to choose a socket: it
// returns the index that transport::engine_of() returns, and any where that names no engine or
// each of them.
bool attach_chooser(const Socket& socket, uint8_t engines) {
  const uint32_t mask = EngineShare{.count = engines}.mask();
  std::array<sock_filter, 16> program = {{
      BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 0),
      BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0x0f),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, transport::kEngineInitType, 4, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, transport::kEngineParityType, 9, 0),
      // A packet of a connection, or an answer in a handshake.
      BPF_STMT(BPF_LD | BPF_B | BPF_ABS, transport::kEngineIdAt),
      BPF_STMT(BPF_ALU | BPF_AND | BPF_K, mask),
      BPF_STMT(BPF_RET | BPF_A, 0),
      // An init.
      BPF_STMT(BPF_LD | BPF_B | BPF_ABS, transport::kEngineIdAt),
      BPF_STMT(BPF_MISC | BPF_TAX, 0),
      BPF_STMT(BPF_LD | BPF_B | BPF_ABS, transport::kEngineInitPortAt),
      BPF_STMT(BPF_ALU | BPF_ADD | BPF_X, 0),
      BPF_STMT(BPF_ALU | BPF_MOD | BPF_K, engines),
      BPF_STMT(BPF_RET | BPF_A, 0),
      // Parity.
      BPF_STMT(BPF_LD | BPF_B | BPF_ABS, transport::kEngineParityIdAt),
      BPF_STMT(BPF_ALU | BPF_AND | BPF_K, mask),
      BPF_STMT(BPF_RET | BPF_A, 0),
  }};
  const sock_fprog attached{.len = program.size(), .filter = program.data()};
  return setsockopt(socket.descriptor(), SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, &attached,
                    sizeof attached) == 0;
}

Unexpected refuse(const char* why) {
  return fail(ErrorCode::kUnavailable, std::string("cannot use several engines with UDP: ") + why,
              std::strerror(errno), "use Linux 4.5 or newer, or set engines to 1");
}

}  // namespace

Result<std::vector<EngineSockets>> open_shared_port(const UdpOptions& options, uint8_t engines) {
  Result<EngineSockets> first = open_receive_sockets(options);
  if (!first) return fail(std::move(first).error());
  std::vector<EngineSockets> opened;
  opened.push_back(std::move(*first));
  for (const ReceiveSocket& nic : opened.front()) {
    if (!nic.socket.set(SOL_SOCKET, SO_REUSEPORT, 1)) return refuse("sockets cannot share a port");
  }
  while (opened.size() < engines) {
    EngineSockets sockets;
    for (const ReceiveSocket& nic : opened.front()) {
      Result<ReceiveSocket> socket = open_sharing_socket(nic.attachment, options);
      if (!socket) return fail(std::move(socket).error());
      sockets.push_back(std::move(*socket));
    }
    opened.push_back(std::move(sockets));
  }
  for (const ReceiveSocket& nic : opened.front()) {
    if (!attach_chooser(nic.socket, engines)) return refuse("no program chooses the socket");
  }
  return opened;
}

}  // namespace heddle::datapath
