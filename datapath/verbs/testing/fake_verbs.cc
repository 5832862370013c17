// See fake_verbs.h. The library's functions carry no owner, so they find the one that exists.
#include "datapath/verbs/testing/fake_verbs.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <deque>
#include <map>
#include <utility>

#include "base/check.h"
#include "base/descriptor.h"
#include "base/own_mutex.h"

namespace heddle::datapath {

struct FakeVerbs::Nic {
  struct Pair {
    ibv_qp pair{};
    uint64_t receive_id = 0;
    std::deque<Write> writes;
  };

  static Nic*& only() {
    static Nic* nic = nullptr;
    return nic;
  }
  static Pair& pair_of(ibv_qp* pair) { return only()->pairs.at(pair->qp_num); }

  static int take_completions(ibv_cq* /*queue*/, int most, ibv_wc* out) {
    const OwnMutex::Lock lock = only()->mutex.lock();
    std::deque<ibv_wc>& done = only()->done;
    int count = 0;
    for (; count < most && !done.empty(); ++count) {
      out[count] = done.front();
      done.pop_front();
    }
    return count;
  }
  static int post_writes(ibv_qp* pair, ibv_send_wr* row, ibv_send_wr** rest) {
    const OwnMutex::Lock lock = only()->mutex.lock();
    *rest = nullptr;
    for (; row != nullptr; row = row->next) {
      Write write{row->wr_id, nullptr, 0};
      if (row->num_sge > 0) {
        write.from = reinterpret_cast<const void*>(row->sg_list->addr);
        write.bytes = row->sg_list->length;
      }
      pair_of(pair).writes.push_back(write);
    }
    return 0;
  }
  static int post_receives(ibv_qp* pair, ibv_recv_wr* row, ibv_recv_wr** rest) {
    const OwnMutex::Lock lock = only()->mutex.lock();
    *rest = only()->refuses_receives ? row : nullptr;
    pair_of(pair).receive_id = row->wr_id;
    return only()->refuses_receives ? ENOMEM : 0;
  }
  static ibv_qp* create_pair(ibv_pd* /*domain*/, ibv_qp_init_attr* /*attributes*/) {
    const OwnMutex::Lock lock = only()->mutex.lock();
    const uint32_t number = ++only()->made;
    Pair& made = only()->pairs[number];
    made.pair.context = &only()->context;
    made.pair.qp_num = number;
    return &made.pair;
  }
  bool busy() { return busy_calls > 0 && busy_calls-- > 0; }
  static int modify_pair(ibv_qp* pair, ibv_qp_attr* attributes, int mask) {
    Nic& nic = *only();
    const OwnMutex::Lock lock = nic.mutex.lock();
    if (nic.busy()) return EBUSY;
    if ((mask & IBV_QP_AV) != 0) {
      nic.traffic_classes.push_back(attributes->ah_attr.grh.traffic_class);
    }
    if ((mask & IBV_QP_STATE) != 0 && attributes->qp_state == IBV_QPS_ERR && nic.flushes) {
      nic.flush(pair);
    }
    return 0;
  }
  static int destroy_pair(ibv_qp* pair) {
    Nic& nic = *only();
    OwnMutex::Lock lock = nic.mutex.lock();
    if (nic.busy()) return EBUSY;
    nic.let_go.wait(lock, [&nic] { return !nic.held; });
    nic.pairs.erase(pair->qp_num);
    return 0;
  }
  void flush(ibv_qp* pair) {
    for (std::deque<Write>& writes = pair_of(pair).writes; !writes.empty(); writes.pop_front()) {
      ibv_wc each{};
      each.wr_id = writes.front().id;
      each.status = IBV_WC_WR_FLUSH_ERR;
      each.opcode = IBV_WC_RDMA_WRITE;
      done.push_back(each);
    }
  }

  void arrive(uint32_t queue_pair, int opcode, uint32_t flags, uint32_t immediate,
              uint32_t bytes = 0) {
    const OwnMutex::Lock lock = mutex.lock();
    ibv_wc each{};
    each.wr_id = pairs.at(queue_pair).receive_id;
    each.status = IBV_WC_SUCCESS;
    each.opcode = static_cast<ibv_wc_opcode>(opcode);
    each.wc_flags = flags;
    each.imm_data = htonl(immediate);
    each.byte_len = bytes;
    done.push_back(each);
  }

  void end_write(ibv_wc_status status) {
    const OwnMutex::Lock lock = mutex.lock();
    const auto found = std::find_if(pairs.begin(), pairs.end(),
                                    [](const auto& entry) { return !entry.second.writes.empty(); });
    CHECK(found != pairs.end());
    ibv_wc each{};
    each.wr_id = found->second.writes.front().id;
    each.status = status;
    each.opcode = IBV_WC_RDMA_WRITE;
    found->second.writes.pop_front();
    done.push_back(each);
  }
  static int take_event(ibv_context* /*context*/, ibv_async_event* out) {
    std::deque<ibv_event_type>& events = only()->events;
    if (events.empty()) return -1;
    out->event_type = events.front();
    events.pop_front();
    return 0;
  }

  static ibv_mr* register_dmabuf(ibv_pd* /*domain*/, uint64_t offset, size_t bytes,
                                 uint64_t address, int dmabuf, int /*access*/) {
    Nic& nic = *only();
    if (nic.dmabuf_error != 0) {
      errno = nic.dmabuf_error;
      return nullptr;
    }
    auto& [registered, memory] = nic.dmabufs.emplace_back();
    registered = {offset, bytes, address, dmabuf};
    memory = std::make_unique<ibv_mr>();
    memory->lkey = memory->rkey = kDmabufKey;
    return memory.get();
  }
  static ibv_mr* register_memory(ibv_pd* /*domain*/, void* start, size_t bytes, int /*access*/) {
    auto& memory = only()->ranges.emplace_back(std::make_unique<ibv_mr>());
    memory->addr = start;
    memory->length = bytes;
    return memory.get();
  }
  static int unregister(ibv_mr* memory) {
    std::erase_if(only()->ranges, [&](const auto& each) { return each.get() == memory; });
    std::erase_if(only()->dmabufs, [&](const auto& each) { return each.second.get() == memory; });
    return 0;
  }

  std::vector<std::unique_ptr<ibv_mr>> ranges;  // that are registered
  int dmabuf_error = 0;
  std::vector<std::pair<Dmabuf, std::unique_ptr<ibv_mr>>> dmabufs;
  Descriptor reports{eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)};
  Descriptor notifications{eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)};
  ibv_device device{};
  ibv_device* devices[2] = {&device, nullptr};
  ibv_context context{};
  ibv_pd domain{};
  ibv_comp_channel channel{};
  ibv_cq queue{};
  std::deque<ibv_wc> done;
  std::deque<ibv_event_type> events;
  std::map<uint32_t, Pair> pairs;  // that are alive
  std::vector<uint8_t> traffic_classes;
  uint32_t made = 0;
  int busy_calls = 0;
  bool refuses_receives = false;
  bool flushes = false;
  bool held = false;
  OwnMutex mutex;  // of the queues and counts: queue pairs end by another thread
  std::condition_variable let_go;
};

FakeVerbs::FakeVerbs() : nic_(std::make_unique<Nic>()) {
  CHECK(std::exchange(Nic::only(), nic_.get()) == nullptr);
  nic_->context.async_fd = nic_->reports.number();
  nic_->context.ops.poll_cq = &Nic::take_completions;
  nic_->context.ops.post_send = &Nic::post_writes;
  nic_->context.ops.post_recv = &Nic::post_receives;
  nic_->context.ops.req_notify_cq = [](ibv_cq*, int) { return 0; };
  nic_->channel.fd = nic_->notifications.number();
  nic_->queue.context = &nic_->context;
  library_.get_device_list = [](int* count) {
    *count = 1;
    return Nic::only()->devices;
  };
  library_.free_device_list = [](ibv_device**) {};
  library_.get_device_name = [](ibv_device*) { return "fake0"; };
  library_.open_device = [](ibv_device*) { return &Nic::only()->context; };
  library_.close_device = [](ibv_context*) { return 0; };
  library_.query_device = [](ibv_context*, ibv_device_attr* attributes) {
    attributes->max_cqe = 1 << 20;
    return 0;
  };
  library_.query_port = [](ibv_context*, unsigned char, ibv_port_attr* attributes) {
    attributes->active_mtu = IBV_MTU_1024;
    return 0;
  };
  library_.alloc_pd = [](ibv_context*) { return &Nic::only()->domain; };
  library_.dealloc_pd = [](ibv_pd*) { return 0; };
  library_.create_comp_channel = [](ibv_context*) { return &Nic::only()->channel; };
  library_.destroy_comp_channel = [](ibv_comp_channel*) { return 0; };
  library_.get_cq_event = [](ibv_comp_channel*, ibv_cq**, void**) { return -1; };
  library_.create_cq = [](ibv_context*, int, void*, ibv_comp_channel*, int) {
    return &Nic::only()->queue;
  };
  library_.resize_cq = [](ibv_cq*, int) { return 0; };
  library_.destroy_cq = [](ibv_cq*) { return 0; };
  library_.get_async_event = &Nic::take_event;
  library_.ack_async_event = [](ibv_async_event*) {};
  library_.memory.reg_mr = &Nic::register_memory;
  library_.memory.dereg_mr = &Nic::unregister;
  library_.create_qp = &Nic::create_pair;
  library_.modify_qp = &Nic::modify_pair;
  library_.destroy_qp = &Nic::destroy_pair;
}

FakeVerbs::~FakeVerbs() { Nic::only() = nullptr; }

std::unique_ptr<VerbsDevice> FakeVerbs::open() {
  RdmaChoice choice;
  choice.device = "fake0";
  Result<std::unique_ptr<VerbsDevice>> opened = VerbsDevice::open(choice, library_);
  CHECK(opened.has_value());
  return std::move(*opened);
}

size_t FakeVerbs::made() const {
  const OwnMutex::Lock lock = nic_->mutex.lock();
  return nic_->made;
}
size_t FakeVerbs::alive() const {
  const OwnMutex::Lock lock = nic_->mutex.lock();
  return nic_->pairs.size();
}

std::vector<uint8_t> FakeVerbs::traffic_classes() const {
  const OwnMutex::Lock lock = nic_->mutex.lock();
  return nic_->traffic_classes;
}

std::vector<FakeVerbs::Write> FakeVerbs::writes() const {
  const OwnMutex::Lock lock = nic_->mutex.lock();
  std::vector<Write> all;
  for (const auto& [number, pair] : nic_->pairs) {
    all.insert(all.end(), pair.writes.begin(), pair.writes.end());
  }
  return all;
}

void FakeVerbs::complete_write() { nic_->end_write(IBV_WC_SUCCESS); }
void FakeVerbs::fail_write() { nic_->end_write(IBV_WC_RETRY_EXC_ERR); }
void FakeVerbs::report(int event) {
  nic_->events.push_back(static_cast<ibv_event_type>(event));
  CHECK(eventfd_write(nic_->reports.number(), 1) == 0);
}

void FakeVerbs::arrive(uint32_t queue_pair, uint32_t immediate, uint32_t bytes) {
  nic_->arrive(queue_pair, IBV_WC_RECV_RDMA_WITH_IMM, IBV_WC_WITH_IMM, immediate, bytes);
}

void FakeVerbs::arrive_without_immediate(uint32_t queue_pair) {
  nic_->arrive(queue_pair, IBV_WC_RECV, 0, 0x01020304);
}

void FakeVerbs::be_busy(int calls) {
  const OwnMutex::Lock lock = nic_->mutex.lock();
  nic_->busy_calls = calls;
}
void FakeVerbs::refuse_receives() {
  const OwnMutex::Lock lock = nic_->mutex.lock();
  nic_->refuses_receives = true;
}
void FakeVerbs::flush_broken_pairs() {
  const OwnMutex::Lock lock = nic_->mutex.lock();
  nic_->flushes = true;
}
void FakeVerbs::take_dmabufs(int error) {
  nic_->dmabuf_error = error;
  library_.memory.reg_dmabuf_mr = &Nic::register_dmabuf;
}

std::vector<FakeVerbs::Dmabuf> FakeVerbs::dmabufs() const {
  std::vector<Dmabuf> all;
  for (const auto& [registered, memory] : nic_->dmabufs) all.push_back(registered);
  return all;
}

void FakeVerbs::hold_ends(bool held) {
  const OwnMutex::Lock lock = nic_->mutex.lock();
  nic_->held = held;
  nic_->let_go.notify_all();
}

}  // namespace heddle::datapath
