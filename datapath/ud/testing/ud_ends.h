// UdEnds: two UD datapaths, and the greetings by which they come to use their queue pairs.
#pragma once

#include <array>
#include <cstddef>

#include "datapath/ud/ud_datapath.h"
#include "transport/tx_batch.h"

namespace heddle::datapath {

// A datagram of a connection from one to the other, without a message.
inline void send_hello(Datapath& from, Datapath& to) {
  std::array<std::byte, 40> header{};
  header[0] = std::byte{0x29};
  transport::TxBurst burst;
  burst.to = to.local_address();
  burst.connection = 1;
  burst.segments = 1;
  burst.header_bytes = header.size();
  burst.headers = header.data();
  from.transmit({&burst, 1});
}

inline void drain(Datapath& datapath) {
  RxBatch batch;
  // UDP is looked at only now and then.
  for (int turn = 0; turn < 100; ++turn) {
    if (datapath.receive(batch, nullptr) == 0) continue;
    datapath.release(batch);
    turn = 0;
  }
}

// False: they do not come to it in time.
inline bool acquaint(UdDatapath& a, UdDatapath& b, Nanos at_most = seconds(10)) {
  const Nanos end = a.now() + at_most;
  const auto uses_pairs = [](UdDatapath& from, UdDatapath& to) {
    const uint64_t before = from.ud_statistics().datagrams_sent;
    const uint64_t arrived = to.ud_statistics().datagrams_received;
    send_hello(from, to);
    drain(to);
    drain(from);
    return from.ud_statistics().datagrams_sent > before &&
           to.ud_statistics().datagrams_received > arrived;
  };
  for (UdDatapath* from : {&a, &b}) {
    UdDatapath& to = from == &a ? b : a;
    while (!uses_pairs(*from, to)) {
      if (from->now() > end) return false;
      from->wait(from->now() + millis(2));
      to.wait(to.now());
    }
  }
  drain(a);
  drain(b);
  return true;
}

}  // namespace heddle::datapath
