// See roce_options.h.
#include "simulator/roce_options.h"

#include "simulator/packet.h"
#include "simulator/roce/header.h"

namespace heddle::simulator {

uint32_t rdma_mtu(uint32_t most, uint32_t ip_mtu_bytes) {
  uint32_t mtu = 4'096;
  while (mtu > 256 && (mtu > most || mtu + roce::kSendHeaderBytes + kIpUdpBytes > ip_mtu_bytes)) {
    mtu /= 2;
  }
  return mtu;
}

}  // namespace heddle::simulator
