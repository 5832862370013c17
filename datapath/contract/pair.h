// Pair: the contract suite's interface to a network: two datapaths that reach each other. Each
// implementation of the datapath contract provides a Pair and instantiates the suite in its own
// *_test.cc, in a test program that links heddle_datapath_contract:
//   INSTANTIATE_TEST_SUITE_P(Udp, Contract,
//                            testing::Values(Variant{"ipv4", make_pair_v4}, …), variant_name);
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <ostream>
#include <string>

#include "base/nanos.h"
#include "base/result.h"
#include "datapath/datapath.h"
#include "transport/address.h"

namespace heddle::datapath::contract {

// Options that a test requests. A network that lacks one returns an error; the test is then skipped
// with that reason.
struct PairOptions {
  bool mark_congestion = false;  // the network sets CE (RFC 3168) on every ECN-capable packet
};

class Pair {
 public:
  virtual ~Pair() = default;

  virtual Datapath& a() = 0;
  virtual Datapath& b() = 0;

  // Lets time pass until `datapath` may have input, an error or room to transmit, or until
  // `at_most` has passed. May return early.
  virtual void wait_for(Datapath& datapath, Nanos at_most) {
    datapath.wait(datapath.now() + at_most);
  }

  // An address on b's host without a receiver.
  virtual transport::Address nobody() = 0;
  // True if a datagram to nobody() produces NetworkErrorKind::kRefused at its sender.
  virtual bool reports_refused() const = 0;
  // True if wait() blocks the calling thread, so that another thread can end it by wake().
  virtual bool waits_block() const = 0;
  // Datagrams that queues between the two hold and of which nothing is dropped, however late the
  // receiver's host runs; the datapaths' own queues are not counted.
  virtual size_t wire_datagrams() const { return SIZE_MAX; }
};

struct Variant {
  std::string name;  // letters, digits and underscores
  std::function<Result<std::unique_ptr<Pair>>(const PairOptions&)> make;
};

// How GoogleTest prints it.
inline void PrintTo(const Variant& variant, std::ostream* out) { *out << variant.name; }

}  // namespace heddle::datapath::contract
