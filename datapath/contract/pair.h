// Pair: what the contract suite needs of a network: two datapaths attached to it that reach each
// other. Each implementation of the datapath contract writes one Pair and instantiates the suite:
//
//   INSTANTIATE_TEST_SUITE_P(Udp, Contract, testing::Values(Variant{"ipv4", make_pair_v4}, …),
//                            variant_name);
//
// in a *_test.cc of its own, in a test program that links heddle_datapath_contract.
#pragma once

#include <functional>
#include <memory>
#include <ostream>
#include <string>

#include "base/nanos.h"
#include "base/result.h"
#include "datapath/datapath.h"
#include "transport/address.h"

namespace heddle::datapath::contract {

// What a test asks for. A network that cannot do it refuses with an error, and the test is skipped
// with that error as its reason.
struct PairOptions {
  bool mark_congestion =
      false;  // the network marks every ECN-capable packet as having met congestion
};

class Pair {
 public:
  virtual ~Pair() = default;

  virtual Datapath& a() = 0;
  virtual Datapath& b() = 0;

  // Lets time pass until `datapath` may have something to receive, an error to tell or room to
  // transmit, or until `at_most` has passed. May return early.
  virtual void wait_for(Datapath& datapath, Nanos at_most) {
    datapath.wait(datapath.now() + at_most);
  }

  // An address on b's host where nobody receives.
  virtual transport::Address nobody() = 0;
  // True if a datagram to nobody() comes back to its sender as NetworkErrorKind::kRefused.
  virtual bool reports_refused() const = 0;
  // True if wait() blocks the calling thread, so that another thread's wake() has a meaning.
  virtual bool waits_block() const = 0;
};

struct Variant {
  std::string name;  // letters, digits and underscores
  std::function<Result<std::unique_ptr<Pair>>(const PairOptions&)> make;
};

// How GoogleTest names it.
inline void PrintTo(const Variant& variant, std::ostream* out) { *out << variant.name; }

}  // namespace heddle::datapath::contract
