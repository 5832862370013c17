// Driver: see driver.h for its contract and transport/endpoint.h for the order of calls that it
// follows.
#include "engine/driver.h"

#include <algorithm>
#include <memory>
#include <span>
#include <utility>
#include <variant>

#include "datapath/datapath.h"
#include "engine/params.h"
#include "engine/wire_bins.h"
#include "transport/endpoint.h"
#include "transport/tx_batch.h"

namespace heddle::engine {
namespace {

bool copies_little(std::span<const transport::Placement> placements) {
  uint64_t bytes = 0;
  for (const transport::Placement& placement : placements) {
    bytes += uint64_t{placement.segments} * placement.bytes;
    if (bytes > params::kQuickCopyBytes) return false;
  }
  return true;
}

}  // namespace

Driver::Driver(transport::Endpoint& endpoint, datapath::Datapath& datapath,
               datapath::RxBatch* input)
    : endpoint_(endpoint),
      decryptor_(endpoint),
      datapath_(datapath),
      own_input_(input == nullptr ? std::make_unique<datapath::RxBatch>() : nullptr),
      input_(input == nullptr ? own_input_.get() : input),
      output_(std::make_unique_for_overwrite<transport::TxBatch>()),  // most of it stays untouched
      predicts_(datapath.capabilities().predicts && !endpoint.payload_is_encrypted()),
      stamps_(datapath.capabilities().timestamps) {}

Driver::~Driver() = default;

Nanos Driver::turn() {
  ++statistics_.turns;
  refresh_now();
  const bool had_input = take_input();
  if (endpoint_.poll_timeout() <= now_) {
    endpoint_.handle_timeout(now_);
    settle();
  }
  const bool had_output = give_output() > 0;
  if (bins_) bins_->tell(now_);

  statistics_.turns_with_input += had_input;
  statistics_.turns_with_output += had_output;
  if (had_input || (had_output && !refused_)) return now_;
  const Nanos wanted = endpoint_.poll_timeout();
  return refused_ ? std::max(wanted, now_ + params::kRefusedRetry) : wanted;
}

bool Driver::push(Nanos now) {
  now_ = std::max(now_, now);
  settle();
  return give_output() >= transport::TxBatch::kMaxBursts && !refused_;
}

bool Driver::take_input() {
  settle();
  bool had_input = false;
  for (int i = 0; i < params::kPlacesPerTurn && (i == 0 || input_->place_filled); ++i) {
    const bool predicted = predicts_ && endpoint_.predict(prediction_);
    const size_t count = datapath_.receive(*input_, predicted ? &prediction_ : nullptr);
    if (count == 0 && input_->event_count == 0) break;
    handle_input();
    had_input = true;
  }

  bool had_error = false;
  transport::NetworkError error;
  while (datapath_.poll_error(error)) {
    endpoint_.handle_network_error(now_, error);
    had_error = true;
  }
  if (had_error) settle();
  return had_input || had_error;
}

void Driver::handle_input() {
  for (size_t i = 0; i < input_->count; ++i) {
    if (bins_) bins_->received(now_, input_->runs[i]);
    if (endpoint_.keyed()) {
      decryptor_.pass(now_, input_->runs[i]);
    } else {
      endpoint_.handle_run(now_, input_->runs[i]);
    }
  }
  for (size_t i = 0; i < input_->event_count; ++i) {
    endpoint_.handle_nic_event(now_, input_->events[i]);
  }
  // Outgoing packets must carry their send time. After large copies the clock is read again;
  // without them, the receive time is accurate enough and saves a clock read.
  const bool arrival_is_now =
      !stamps_ && input_->count > 0 && copies_little(endpoint_.placements());
  if (arrival_is_now) now_ = std::max(now_, input_->runs[input_->count - 1].received_at);
  settle();
  datapath_.release(*input_);
  if (!arrival_is_now) refresh_now();
}

// Sends until nothing is due, the network refuses, or a batch of bursts has left. It then returns
// to input first, so a large window does not starve acknowledgements.
size_t Driver::give_output() {
  size_t sent = 0;
  if (output_taken_ < output_->bursts().size() &&
      endpoint_.statistics().connections_closed != closed_before_) {
    // The closed connection's operations have ended, so the caller may have reused their memory,
    // and the peer would accept the new contents as its message. Waiting payload of other
    // connections is dropped too; the transport declares it lost and retransmits it.
    drop_waiting(
        [](const transport::TxBurst& burst) { return burst.region != transport::kNoRegion; });
  }
  while (sent < transport::TxBatch::kMaxBursts) {
    if (output_taken_ == output_->bursts().size()) {
      output_->clear();
      output_taken_ = 0;
      closed_before_ = endpoint_.statistics().connections_closed;
      if (!endpoint_.poll_transmit(now_, *output_)) {
        refused_ = false;
        break;
      }
    }
    const std::span<const transport::TxBurst> rest = output_->bursts().subspan(output_taken_);
    const size_t taken = datapath_.transmit(rest);
    if (bins_) count_sent(rest.first(taken));
    output_taken_ += taken;
    sent += taken;
    refused_ = taken < rest.size();
    if (refused_) {
      ++statistics_.turns_refused;
      break;
    }
    refresh_now();
  }
  return sent;
}

void Driver::count_sent(std::span<const transport::TxBurst> bursts) {
  for (size_t i = 0; i < bursts.size(); ++i) bins_->sent(now_, bursts[i], datapath_.unsent(i));
}

void Driver::count_wire(events::Sink& sink, Nanos span) {
  bins_ = std::make_unique<WireBins>(sink, span);
}

void Driver::end_count() {
  if (bins_) bins_->report_all(now_);
}

void Driver::rest(Nanos until) {
  if (bins_) bins_->report_before_rest(now_, until);
}

void Driver::settle() {
  transport::NicRequest request;
  while (endpoint_.poll_nic_request(request)) {
    if (const auto* peer = std::get_if<transport::WriterAdmission>(&request)) {
      datapath_.admit(*peer);
    } else if (const auto* fence = std::get_if<transport::FenceRequest>(&request)) {
      datapath_.fence(*fence);
    } else {
      recall(std::get<transport::RecallRequest>(request));
    }
  }
  const std::span<const transport::Placement> placements = endpoint_.placements();
  if (placements.empty()) return;
  datapath_.place(placements);
  endpoint_.clear_placements();
}

// Writes that the datapath has not taken yet never leave.
void Driver::recall(const transport::RecallRequest& request) {
  drop_waiting([&request](const transport::TxBurst& burst) {
    return burst.write != nullptr && request.covers(*burst.write, burst.path);
  });
  datapath_.recall(request);
}

void Driver::forget(transport::RegionId region) {
  drop_waiting([region](const transport::TxBurst& burst) { return burst.region == region; });
}

// Removes bursts that match `unwanted` from those that wait for the network.
template <typename Unwanted>
void Driver::drop_waiting(Unwanted unwanted) {
  const std::span<const transport::TxBurst> waiting = output_->bursts().subspan(output_taken_);
  if (std::none_of(waiting.begin(), waiting.end(), unwanted)) return;
  // Rare (an operation ends while the network is full), so a second batch is the simplest solution.
  auto kept = std::make_unique<transport::TxBatch>();
  for (const transport::TxBurst& burst : waiting) {
    if (unwanted(burst)) continue;
    if (burst.write != nullptr) {
      kept->add_write(burst, *burst.write);
      continue;
    }
    transport::TxBurst moved = burst;
    moved.headers = kept->header_space();
    std::copy_n(burst.headers, size_t{burst.segments} * burst.header_bytes, kept->header_space());
    kept->add(moved);
  }
  output_ = std::move(kept);
  output_taken_ = 0;
  if (output_->empty()) refused_ = false;
}

void Driver::refresh_now() { now_ = std::max(now_, datapath_.now()); }

}  // namespace heddle::engine
