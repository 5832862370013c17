// See datagram_nics.h. The library's functions carry no owner, so they find the one that exists.
#include "datapath/ud/testing/datagram_nics.h"

#include <fcntl.h>
#include <infiniband/verbs.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <deque>
#include <map>
#include <utility>

#include "base/check.h"
#include "base/descriptor.h"
#include "base/own_mutex.h"

namespace heddle::datapath {
namespace {

constexpr size_t kRoutingBytes = 40;

struct Nic {
  ibv_device device{};
  std::string name;
  std::array<uint8_t, 16> address{};
  uint8_t mtu = IBV_MTU_4096;
};

// What one caller opened.
struct Context {
  ibv_context context{};
  Nic* nic = nullptr;
  Descriptor reports{eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)};
};

struct Queue {
  ibv_cq queue{};
  std::deque<ibv_wc> done;
  Descriptor* notification = nullptr;
  bool armed = false;
};

struct Channel {
  ibv_comp_channel channel{};
  Descriptor notification{eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)};
  Queue* queue = nullptr;
};

struct Handle {
  ibv_ah handle{};
  ibv_global_route route{};
};

struct Send {
  uint64_t id = 0;
  bool signaled = false;
  std::vector<ibv_sge> places;
  uint32_t immediate = 0;
  ibv_global_route route{};
  uint32_t to = 0;
  uint32_t key = 0;
};

struct Receive {
  uint64_t id = 0;
  ibv_sge place{};
};

struct Pair {
  ibv_qp pair{};
  Nic* nic = nullptr;
  Queue* sends_to = nullptr;
  Queue* receives_to = nullptr;
  ibv_qp_state state = IBV_QPS_RESET;
  uint32_t key = 0;
  std::deque<Send> sends;
  std::deque<Receive> receives;
};

}  // namespace

struct DatagramNics::State {
  static State*& only() {
    static State* state = nullptr;
    return state;
  }
  static Context& context_of(ibv_context* context) { return *only()->contexts.at(context); }

  void complete(Queue& queue, const ibv_wc& done) {
    queue.done.push_back(done);
    if (!queue.armed || queue.notification == nullptr) return;
    queue.armed = false;
    CHECK(eventfd_write(queue.notification->number(), 1) == 0);
  }

  static ibv_wc completion(uint64_t id, ibv_wc_status status, ibv_wc_opcode opcode) {
    ibv_wc done{};
    done.wr_id = id;
    done.status = status;
    done.opcode = opcode;
    return done;
  }

  void fail(Pair& pair) {
    pair.state = IBV_QPS_ERR;
    for (; !pair.sends.empty(); pair.sends.pop_front()) {
      complete(*pair.sends_to, completion(pair.sends.front().id, IBV_WC_WR_FLUSH_ERR, IBV_WC_SEND));
    }
    for (; !pair.receives.empty(); pair.receives.pop_front()) {
      complete(*pair.receives_to,
               completion(pair.receives.front().id, IBV_WC_WR_FLUSH_ERR, IBV_WC_RECV));
    }
  }

  // Sends what is queued, as the NIC does at once where it is not held.
  void work(Pair& pair) {
    while (!held && !pair.sends.empty() && pair.state == IBV_QPS_RTS) {
      const Send send = std::move(pair.sends.front());
      pair.sends.pop_front();
      Arriving datagram;
      datagram.bytes = routing_header(pair, send);
      for (const ibv_sge& place : send.places) {
        const auto* from = reinterpret_cast<const std::byte*>(place.addr);
        datagram.bytes.insert(datagram.bytes.end(), from, from + place.length);
      }
      const size_t payload = datagram.bytes.size() - kRoutingBytes;
      if (payload > size_t{128} << pair.nic->mtu) {
        complete(*pair.sends_to, completion(send.id, IBV_WC_LOC_LEN_ERR, IBV_WC_SEND));
        fail(pair);
        return;
      }
      datagram.immediate = send.immediate;
      if (change) change(datagram);
      const auto to = pairs.find(send.to);
      if (!lost && to != pairs.end() &&
          std::memcmp(send.route.dgid.raw, to->second->nic->address.data(), 16) == 0) {
        if (send.key == to->second->key) {
          arrive(*to->second, datagram);
        } else {
          ++wrong_key;
        }
      }
      if (send.signaled) {
        complete(*pair.sends_to, completion(send.id, IBV_WC_SUCCESS, IBV_WC_SEND));
      }
    }
  }

  static std::vector<std::byte> routing_header(const Pair& pair, const Send& send) {
    std::vector<std::byte> header(kRoutingBytes, std::byte{0x66});
    const auto put = [&header](size_t at, const void* from, size_t bytes) {
      std::memcpy(&header[at], from, bytes);
    };
    if (pair.nic->address[10] == 0xff) {  // ::ffff:a.b.c.d
      header[20] = std::byte{0x45};
      header[21] = std::byte{send.route.traffic_class};
      put(32, &pair.nic->address[12], 4);
      put(36, &send.route.dgid.raw[12], 4);
      return header;
    }
    header[0] = std::byte{0x60} | std::byte{send.route.traffic_class} >> 4;
    header[1] = std::byte{send.route.traffic_class} << 4;
    put(8, pair.nic->address.data(), 16);
    put(24, send.route.dgid.raw, 16);
    return header;
  }

  void arrive(Pair& pair, const Arriving& datagram) {
    if (pair.receives.empty()) return;
    if (pair.state != IBV_QPS_RTR && pair.state != IBV_QPS_RTS) return;
    const Receive receive = pair.receives.front();
    pair.receives.pop_front();
    if (datagram.bytes.size() > receive.place.length) {
      complete(*pair.receives_to, completion(receive.id, IBV_WC_LOC_LEN_ERR, IBV_WC_RECV));
      fail(pair);
      return;
    }
    std::memcpy(reinterpret_cast<void*>(receive.place.addr), datagram.bytes.data(),
                datagram.bytes.size());
    ibv_wc done = completion(receive.id, IBV_WC_SUCCESS, IBV_WC_RECV);
    done.byte_len = static_cast<uint32_t>(datagram.bytes.size());
    done.imm_data = datagram.immediate;
    done.wc_flags =
        (datagram.has_immediate ? IBV_WC_WITH_IMM : 0) | (datagram.has_header ? IBV_WC_GRH : 0);
    ++delivered;
    complete(*pair.receives_to, done);
  }

  // --- functions of the context ---

  static int poll(ibv_cq* queue, int most, ibv_wc* out) {
    const OwnMutex::Lock lock = only()->mutex.lock();
    std::deque<ibv_wc>& done = only()->queues.at(queue)->done;
    int count = 0;
    for (; count < most && !done.empty(); ++count) {
      out[count] = done.front();
      done.pop_front();
    }
    return count;
  }
  static int arm(ibv_cq* queue, int /*solicited*/) {
    const OwnMutex::Lock lock = only()->mutex.lock();
    only()->queues.at(queue)->armed = true;
    return 0;
  }
  static int post_send(ibv_qp* pair, ibv_send_wr* row, ibv_send_wr** rest) {
    const OwnMutex::Lock lock = only()->mutex.lock();
    *rest = nullptr;
    Pair& to = *only()->pairs.at(pair->qp_num);
    for (; row != nullptr; row = row->next) {
      CHECK(row->opcode == IBV_WR_SEND_WITH_IMM);
      Send send{.id = row->wr_id,
                .signaled = (row->send_flags & IBV_SEND_SIGNALED) != 0,
                .immediate = row->imm_data,
                .route = only()->handles.at(row->wr.ud.ah)->route,
                .to = row->wr.ud.remote_qpn,
                .key = row->wr.ud.remote_qkey};
      send.places.assign(row->sg_list, row->sg_list + row->num_sge);
      to.sends.push_back(std::move(send));
    }
    if (to.state == IBV_QPS_ERR) only()->fail(to);
    only()->work(to);
    return 0;
  }
  static int post_receive(ibv_qp* pair, ibv_recv_wr* row, ibv_recv_wr** rest) {
    const OwnMutex::Lock lock = only()->mutex.lock();
    *rest = nullptr;
    Pair& to = *only()->pairs.at(pair->qp_num);
    for (; row != nullptr; row = row->next) {
      CHECK(row->num_sge == 1);
      to.receives.push_back({row->wr_id, *row->sg_list});
    }
    if (to.state == IBV_QPS_ERR) only()->fail(to);
    return 0;
  }

  // --- functions of the library ---

  static ibv_context* open(ibv_device* device) {
    const OwnMutex::Lock lock = only()->mutex.lock();
    auto made = std::make_unique<Context>();
    for (const auto& nic : only()->nics) {
      if (&nic->device == device) made->nic = nic.get();
    }
    made->context.async_fd = made->reports.number();
    made->context.ops.poll_cq = &State::poll;
    made->context.ops.req_notify_cq = &State::arm;
    made->context.ops.post_send = &State::post_send;
    made->context.ops.post_recv = &State::post_receive;
    ibv_context* const context = &made->context;
    only()->contexts[context] = std::move(made);
    return context;
  }
  static ibv_comp_channel* make_channel(ibv_context* /*context*/) {
    const OwnMutex::Lock lock = only()->mutex.lock();
    auto made = std::make_unique<Channel>();
    made->channel.fd = made->notification.number();
    ibv_comp_channel* const channel = &made->channel;
    only()->channels[channel] = std::move(made);
    return channel;
  }
  static ibv_cq* make_queue(ibv_context* context, int /*entries*/, void* /*owner*/,
                            ibv_comp_channel* channel, int /*vector*/) {
    const OwnMutex::Lock lock = only()->mutex.lock();
    auto made = std::make_unique<Queue>();
    Channel& of = *only()->channels.at(channel);
    made->queue.context = context;
    made->notification = &of.notification;
    of.queue = made.get();
    ibv_cq* const queue = &made->queue;
    only()->queues[queue] = std::move(made);
    return queue;
  }
  static int take_notification(ibv_comp_channel* channel, ibv_cq** queue, void** owner) {
    const OwnMutex::Lock lock = only()->mutex.lock();
    Channel& of = *only()->channels.at(channel);
    eventfd_t count = 0;
    if (eventfd_read(of.notification.number(), &count) != 0) return -1;
    *queue = &of.queue->queue;
    *owner = nullptr;
    return 0;
  }
  static ibv_qp* make_pair(ibv_pd* domain, ibv_qp_init_attr* wish) {
    const OwnMutex::Lock lock = only()->mutex.lock();
    CHECK(wish->qp_type == IBV_QPT_UD);
    if (only()->refuses_pairs) {
      errno = EOPNOTSUPP;
      return nullptr;
    }
    auto made = std::make_unique<Pair>();
    made->pair.context = domain->context;
    made->pair.qp_num = ++only()->made;
    made->nic = context_of(domain->context).nic;
    made->sends_to = only()->queues.at(wish->send_cq).get();
    made->receives_to = only()->queues.at(wish->recv_cq).get();
    ibv_qp* const pair = &made->pair;
    only()->pairs[pair->qp_num] = std::move(made);
    return pair;
  }
  static int modify_pair(ibv_qp* pair, ibv_qp_attr* attributes, int mask) {
    const OwnMutex::Lock lock = only()->mutex.lock();
    Pair& of = *only()->pairs.at(pair->qp_num);
    if ((mask & IBV_QP_QKEY) != 0) of.key = attributes->qkey;
    if ((mask & IBV_QP_STATE) == 0) return 0;
    of.state = attributes->qp_state;
    if (of.state == IBV_QPS_ERR) only()->fail(of);
    return 0;
  }
  static int destroy_pair(ibv_qp* pair) {
    const OwnMutex::Lock lock = only()->mutex.lock();
    if (only()->holds_ends) return EBUSY;
    only()->pairs.erase(pair->qp_num);
    return 0;
  }
  static ibv_ah* make_handle(ibv_pd* /*domain*/, ibv_ah_attr* attributes) {
    const OwnMutex::Lock lock = only()->mutex.lock();
    if (only()->refuses_handles) return nullptr;
    auto made = std::make_unique<Handle>();
    made->route = attributes->grh;
    ibv_ah* const handle = &made->handle;
    only()->handles[handle] = std::move(made);
    return handle;
  }
  static ibv_mr* register_memory(ibv_pd* /*domain*/, void* start, size_t bytes, int /*access*/) {
    const OwnMutex::Lock lock = only()->mutex.lock();
    if (bytes > only()->most_memory) {
      errno = ENOMEM;
      return nullptr;
    }
    auto made = std::make_unique<ibv_mr>();
    made->addr = start;
    made->length = bytes;
    ibv_mr* const memory = made.get();
    only()->memory[memory] = std::move(made);
    return memory;
  }

  OwnMutex mutex;  // queue pairs end by another thread
  std::vector<std::unique_ptr<Nic>> nics;
  std::vector<ibv_device*> list;
  std::map<ibv_context*, std::unique_ptr<Context>> contexts;
  std::map<ibv_pd*, std::unique_ptr<ibv_pd>> domains;
  std::map<ibv_comp_channel*, std::unique_ptr<Channel>> channels;
  std::map<ibv_cq*, std::unique_ptr<Queue>> queues;
  std::map<ibv_ah*, std::unique_ptr<Handle>> handles;
  std::map<ibv_mr*, std::unique_ptr<ibv_mr>> memory;
  std::map<uint32_t, std::unique_ptr<Pair>> pairs;  // that are alive
  std::function<void(Arriving&)> change;
  uint32_t made = 100;
  bool lost = false;
  bool held = false;
  bool holds_ends = false;
  bool refuses_handles = false;
  bool refuses_pairs = false;
  uint64_t most_memory = UINT64_MAX;
  uint64_t delivered = 0;
  uint64_t wrong_key = 0;
};

DatagramNics::DatagramNics(const std::vector<std::string>& addresses)
    : state_(std::make_unique<State>()) {
  CHECK(std::exchange(State::only(), state_.get()) == nullptr);
  for (const std::string& address : addresses) {
    auto nic = std::make_unique<Nic>();
    nic->name = "nic" + std::to_string(state_->nics.size());
    nic->address = *parse_rdma_address(address);
    state_->list.push_back(&nic->device);
    state_->nics.push_back(std::move(nic));
  }
  state_->list.push_back(nullptr);
  library_.get_device_list = [](int* count) {
    *count = static_cast<int>(State::only()->nics.size());
    return State::only()->list.data();
  };
  library_.free_device_list = [](ibv_device**) {};
  library_.get_device_name = [](ibv_device* device) -> const char* {
    for (const auto& nic : State::only()->nics) {
      if (&nic->device == device) return nic->name.c_str();
    }
    return "";
  };
  library_.open_device = &State::open;
  library_.close_device = [](ibv_context* context) {
    const OwnMutex::Lock lock = State::only()->mutex.lock();
    State::only()->contexts.erase(context);
    return 0;
  };
  library_.query_device = [](ibv_context*, ibv_device_attr* attributes) {
    attributes->max_cqe = 1 << 20;
    return 0;
  };
  library_.query_port = [](ibv_context* context, unsigned char, ibv_port_attr* attributes) {
    attributes->active_mtu = static_cast<ibv_mtu>(State::context_of(context).nic->mtu);
    return 0;
  };
  library_.alloc_pd = [](ibv_context* context) {
    auto made = std::make_unique<ibv_pd>();
    made->context = context;
    ibv_pd* const domain = made.get();
    State::only()->domains[domain] = std::move(made);
    return domain;
  };
  library_.dealloc_pd = [](ibv_pd*) { return 0; };
  library_.memory.reg_mr = &State::register_memory;
  library_.memory.dereg_mr = [](ibv_mr* memory) {
    const OwnMutex::Lock lock = State::only()->mutex.lock();
    State::only()->memory.erase(memory);
    return 0;
  };
  library_.create_comp_channel = &State::make_channel;
  library_.destroy_comp_channel = [](ibv_comp_channel*) { return 0; };
  library_.create_cq = &State::make_queue;
  library_.resize_cq = [](ibv_cq*, int) { return 0; };
  library_.destroy_cq = [](ibv_cq*) { return 0; };
  library_.get_cq_event = &State::take_notification;
  library_.ack_cq_events = [](ibv_cq*, unsigned) {};
  library_.create_qp = &State::make_pair;
  library_.modify_qp = &State::modify_pair;
  library_.destroy_qp = &State::destroy_pair;
  library_.create_ah = &State::make_handle;
  library_.destroy_ah = [](ibv_ah* handle) {
    const OwnMutex::Lock lock = State::only()->mutex.lock();
    State::only()->handles.erase(handle);
    return 0;
  };
  library_.get_async_event = [](ibv_context*, ibv_async_event*) { return -1; };
  library_.ack_async_event = [](ibv_async_event*) {};
}

DatagramNics::~DatagramNics() { State::only() = nullptr; }

RdmaChoice DatagramNics::choice(size_t device) const {
  RdmaChoice choice;
  choice.device = state_->nics.at(device)->name;
  choice.gid.address = state_->nics.at(device)->address;
  choice.gid.roce_v2 = true;
  return choice;
}

void DatagramNics::set_mtu(size_t device, uint8_t mtu) { state_->nics.at(device)->mtu = mtu; }

std::vector<uint32_t> DatagramNics::pairs(size_t device) const {
  const OwnMutex::Lock lock = state_->mutex.lock();
  std::vector<uint32_t> found;
  for (const auto& [number, pair] : state_->pairs) {
    if (pair->nic == state_->nics.at(device).get()) found.push_back(number);
  }
  return found;
}

void DatagramNics::break_pair(uint32_t number) {
  const OwnMutex::Lock lock = state_->mutex.lock();
  state_->fail(*state_->pairs.at(number));
}

void DatagramNics::lose_all(bool lost) { state_->lost = lost; }

void DatagramNics::hold_sends(bool held) {
  const OwnMutex::Lock lock = state_->mutex.lock();
  state_->held = held;
  for (auto& [number, pair] : state_->pairs) state_->work(*pair);
}

void DatagramNics::hold_ends(bool held) {
  const OwnMutex::Lock lock = state_->mutex.lock();
  state_->holds_ends = held;
}

void DatagramNics::refuse_handles(bool refused) { state_->refuses_handles = refused; }
void DatagramNics::refuse_memory(uint64_t above_bytes) { state_->most_memory = above_bytes; }

void DatagramNics::refuse_pairs() { state_->refuses_pairs = true; }

void DatagramNics::on_arrival(std::function<void(Arriving&)> change) {
  state_->change = std::move(change);
}

void DatagramNics::inject(uint32_t queue_pair, const Arriving& datagram) {
  const OwnMutex::Lock lock = state_->mutex.lock();
  state_->arrive(*state_->pairs.at(queue_pair), datagram);
}

uint64_t DatagramNics::delivered() const { return state_->delivered; }
uint64_t DatagramNics::wrong_key() const { return state_->wrong_key; }

size_t DatagramNics::registered() const {
  const OwnMutex::Lock lock = state_->mutex.lock();
  return state_->memory.size();
}

size_t DatagramNics::handles() const {
  const OwnMutex::Lock lock = state_->mutex.lock();
  return state_->handles.size();
}

size_t DatagramNics::opened() const {
  const OwnMutex::Lock lock = state_->mutex.lock();
  return state_->contexts.size();
}

}  // namespace heddle::datapath
