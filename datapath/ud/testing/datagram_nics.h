// DatagramNics: libibverbs and RDMA devices for unit tests, whose UD queue pairs deliver datagrams
// to each other as the specification has it: routing header, key, immediate data; nothing arrives
// where no receive is posted. Device "nicN" has one address. One at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "datapath/rdma_devices.h"
#include "datapath/verbs/library.h"
#include "datapath/verbs/open.h"

namespace heddle::datapath {

class DatagramNics {
 public:
  // A device for each address.
  explicit DatagramNics(const std::vector<std::string>& addresses);
  ~DatagramNics();
  DatagramNics(const DatagramNics&) = delete;
  DatagramNics& operator=(const DatagramNics&) = delete;

  VerbsPort port(size_t device) const { return {choice(device), &library_}; }

  // Of packets, as verbs encode it; before a device is opened.
  void set_mtu(size_t device, uint8_t mtu);
  // Queue pairs that are alive.
  std::vector<uint32_t> pairs(size_t device) const;
  // This queue pair fails: its requests end with an error.
  void break_pair(uint32_t number);
  // From now on the network loses all datagrams, or none.
  void lose_all(bool lost);
  // While held, what is posted to be sent stays in its queue, unread.
  void hold_sends(bool held);
  // While held, the kernel calls each queue pair that is to be destroyed busy.
  void hold_ends(bool held);
  // Of what is sent from now on: address handles that cannot be made; memory that cannot be
  // registered.
  void refuse_handles(bool refused);
  void refuse_memory(uint64_t above_bytes);
  // The device makes no UD queue pair.
  void refuse_pairs();
  // Changes each datagram as it arrives: routing header and payload, immediate data, flags.
  struct Arriving {
    std::vector<std::byte> bytes;  // header first
    uint32_t immediate = 0;
    bool has_immediate = true;
    bool has_header = true;
  };
  void on_arrival(std::function<void(Arriving&)> change);
  // A datagram of anyone arrives at this queue pair.
  void inject(uint32_t queue_pair, const Arriving& datagram);

  uint64_t delivered() const;
  uint64_t wrong_key() const;
  // Of all devices, that have not ended: registered memory, address handles, open devices.
  size_t registered() const;
  size_t handles() const;
  size_t opened() const;

 private:
  RdmaChoice choice(size_t device) const;

  struct State;
  std::unique_ptr<State> state_;
  VerbsLibrary library_;
};

}  // namespace heddle::datapath
