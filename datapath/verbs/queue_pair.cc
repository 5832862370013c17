// See queue_pair.h.
#include "datapath/verbs/queue_pair.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <infiniband/verbs.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <thread>
#include <utility>

#include "base/check.h"
#include "base/hash.h"
#include "base/log.h"
#include "datapath/verbs/params.h"

namespace heddle::datapath {

using namespace verbs_params;  // NOLINT: the constants of this folder

namespace {

// The kernel refuses to change a queue pair in the moment in which another call, also of a process
// that shares the descriptor, reads its state. Gives what the last try returned.
template <typename Call>
int unless_busy(Call call) {
  int failed = call();
  for (int tries = 1; failed == EBUSY && tries < kBusyTries; ++tries) {
    std::this_thread::yield();
    failed = call();
  }
  return failed;
}

ibv_qp_type type_of(RdmaMode mode) {
  if (mode == RdmaMode::kDatagrams) return IBV_QPT_UD;
  return mode == RdmaMode::kReliable ? IBV_QPT_RC : IBV_QPT_UC;
}

uint32_t depth_of(const QueuePairOptions& options) {
  if (options.mode == RdmaMode::kDatagrams) return options.depth;
  return options.receives ? kReceiveDepth : kSendDepth;
}

}  // namespace

Result<std::unique_ptr<QueuePair>> QueuePair::create(VerbsDevice& device,
                                                     const QueuePairOptions& options) {
  std::unique_ptr<QueuePair> made(new QueuePair(device, options));
  if (Result<void> good = made->make(); !good) return fail(good.error());
  return made;
}

QueuePair::~QueuePair() {
  if (!destroy()) log_error("RDMA: a queue pair cannot be ended: {}", std::strerror(EBUSY));
  device_.release_completions(reserved_);
}

// A queue pair that stayed would let late writes land.
bool QueuePair::destroy() {
  if (pair_ == nullptr) return true;
  const int failed = unless_busy([this] { return device_.library().destroy_qp(pair_); });
  if (failed == EBUSY) return false;
  if (failed != 0) log_error("RDMA: a queue pair cannot be ended: {}", std::strerror(failed));
  pair_ = nullptr;
  return true;
}

Result<void> QueuePair::make() {
  const bool datagrams = options_.mode == RdmaMode::kDatagrams;
  const uint32_t wanted = depth_of(options_);
  if (!device_.reserve_completions(wanted)) {
    return fail(ErrorCode::kExhausted, "cannot make a queue pair",
                "the device's completion queue is full", "use fewer paths, or the UDP datapath");
  }
  reserved_ = wanted;
  ibv_qp_init_attr wish{};
  wish.send_cq = wish.recv_cq = device_.completions();
  wish.qp_type = type_of(options_.mode);
  wish.cap.max_send_wr = options_.receives ? 1 : wanted;
  wish.cap.max_recv_wr = options_.receives ? wanted : 1;
  wish.cap.max_send_sge = 1;
  wish.cap.max_recv_sge = 1;
  pair_ = device_.library().create_qp(device_.domain(), &wish);
  if (pair_ == nullptr && datagrams && (errno == EOPNOTSUPP || errno == ENOSYS)) {
    return fail(ErrorCode::kUnavailable, "cannot open RDMA datagrams (UD)",
                device_.choice().device + " has no UD queue pairs",
                "set rdma_mode to rc or uc, or datapath to udp");
  }
  if (pair_ == nullptr) {
    return fail(errno == ENOMEM ? ErrorCode::kExhausted : ErrorCode::kSystem,
                "cannot make a queue pair", std::strerror(errno),
                "use fewer paths, or the UDP datapath");
  }
  number_ = pair_->qp_num;
  ibv_qp_attr init{};
  init.qp_state = IBV_QPS_INIT;
  init.port_num = static_cast<uint8_t>(device_.choice().port);
  if (datagrams) {
    init.qkey = options_.key;
    return modify("initialize", &init,
                  IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY);
  }
  init.qp_access_flags = options_.receives ? IBV_ACCESS_REMOTE_WRITE : 0;
  return modify("initialize", &init,
                IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
}

Result<void> QueuePair::modify(const char* what, void* attributes, int mask) {
  const int failed = unless_busy([&] {
    return device_.library().modify_qp(pair_, static_cast<ibv_qp_attr*>(attributes), mask);
  });
  if (failed == 0) return {};
  return fail(ErrorCode::kSystem, fmt::format("cannot {} a queue pair", what),
              std::strerror(failed));
}

Result<void> QueuePair::connect(const QueuePairPeer& peer, uint32_t own_first_number) {
  const bool reliable = options_.mode == RdmaMode::kReliable;
  ibv_qp_attr ready{};
  ready.qp_state = IBV_QPS_RTR;
  ready.path_mtu = static_cast<ibv_mtu>(peer.mtu);
  ready.dest_qp_num = peer.queue_pair;
  ready.rq_psn = peer.first_number;
  ready.min_rnr_timer = kReceiverNotReadyTimer;
  ready.ah_attr.is_global = 1;
  ready.ah_attr.port_num = static_cast<uint8_t>(device_.choice().port);
  ready.ah_attr.grh.sgid_index = static_cast<uint8_t>(device_.choice().gid.index);
  ready.ah_attr.grh.hop_limit = kHopLimit;
  ready.ah_attr.grh.traffic_class = options_.traffic_class;
  // Where the driver derives the UDP source port from it, each queue pair hashes to a route of its
  // own; others hash on the queue pair's number.
  ready.ah_attr.grh.flow_label =
      static_cast<uint32_t>(mix_bits(uint64_t{number_} << 32 | peer.queue_pair)) & 0xfffff;
  std::memcpy(ready.ah_attr.grh.dgid.raw, peer.address.host.data(), 16);
  int mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
  if (reliable) mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
  if (Result<void> good = modify("connect", &ready, mask); !good || options_.receives) return good;
  ibv_qp_attr send{};
  send.qp_state = IBV_QPS_RTS;
  send.sq_psn = own_first_number;
  send.timeout = kRetryTimer;
  send.retry_cnt = kRetries;
  send.rnr_retry = kReceiverNotReadyRetries;
  mask = IBV_QP_STATE | IBV_QP_SQ_PSN;
  if (reliable) {
    mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
  }
  return modify("start", &send, mask);
}

Result<void> QueuePair::start() {
  ibv_qp_attr ready{};
  ready.qp_state = IBV_QPS_RTR;
  if (Result<void> good = modify("start", &ready, IBV_QP_STATE); !good || options_.receives) {
    return good;
  }
  ibv_qp_attr send{};
  send.qp_state = IBV_QPS_RTS;
  return modify("start", &send, IBV_QP_STATE | IBV_QP_SQ_PSN);
}

void QueuePair::break_off() {
  if (broken_off_) return;
  ibv_qp_attr error{};
  error.qp_state = IBV_QPS_ERR;
  const Result<void> ended = modify("end", &error, IBV_QP_STATE);
  broken_off_ = ended.has_value();
  if (!ended) log_warn("RDMA: {}", ended.error().message());
}

size_t QueuePair::post_writes(std::span<const RemoteWriteRequest> writes) {
  CHECK(writes.size() <= kSendDepth);
  std::array<ibv_send_wr, kSendDepth> row;
  std::array<ibv_sge, kSendDepth> pieces;
  for (size_t i = 0; i < writes.size(); ++i) {
    const RemoteWriteRequest& write = writes[i];
    pieces[i] = {reinterpret_cast<uintptr_t>(write.from), write.bytes, write.local_key};
    ibv_send_wr& to = row[i];
    to = {};
    to.wr_id = options_.id;
    to.next = i + 1 < writes.size() ? &row[i + 1] : nullptr;
    to.sg_list = &pieces[i];
    to.num_sge = write.bytes > 0 ? 1 : 0;
    to.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
    to.send_flags = IBV_SEND_SIGNALED;
    to.imm_data = htonl(write.immediate);
    to.wr.rdma.remote_addr = write.to;
    to.wr.rdma.rkey = write.remote_key;
  }
  if (writes.empty()) return 0;
  ibv_send_wr* rest = nullptr;
  if (ibv_post_send(pair_, row.data(), &rest) == 0) return writes.size();
  return rest == nullptr ? 0 : static_cast<size_t>(rest - row.data());
}

bool QueuePair::post_receives(uint32_t count) {
  CHECK(count <= kReceiveDepth);
  if (count == 0) return true;
  std::array<ibv_recv_wr, kReceiveDepth> row;
  for (uint32_t i = 0; i < count; ++i) {
    row[i] = {};
    row[i].wr_id = options_.id;
    row[i].next = i + 1 < count ? &row[i + 1] : nullptr;
  }
  ibv_recv_wr* rest = nullptr;
  return ibv_post_recv(pair_, row.data(), &rest) == 0;
}

}  // namespace heddle::datapath
