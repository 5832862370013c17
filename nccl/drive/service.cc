// Service: see service.h.
#include "nccl/drive/service.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "nccl/drive/clock.h"
#include "nccl/drive/failure.h"
#include "nccl/drive/payload.h"
#include "nccl/drive/plugin_log.h"
#include "nccl/params.h"

namespace heddle::nccl {
Patience::Patience(Exchange& exchange, const DriveOptions& options)
    : exchange_(exchange),
      options_(options),
      deadline_(monotonic_now() + options.patience),
      next_look_(monotonic_now() + params::drive::kEndPause) {}

Result<void> Patience::look(const std::string& what, const std::string& todo) {
  if (options_.stopped && options_.stopped()) {
    return fail(ErrorCode::kCancelled, what, "it was stopped");
  }
  const Nanos now = monotonic_now();
  if (now < next_look_) return {};
  next_look_ = now + params::drive::kEndPause;
  const Result<std::optional<Error>> failed = read_failure(exchange_);
  if (!failed) return fail(failed.error());
  if (*failed) return fail(**failed);
  if (now < deadline_) return {};
  return fail(ErrorCode::kTimeout, what,
              fmt::format("nothing happened for {:.0f} s", to_seconds(options_.patience)), todo);
}

Result<std::string> await_value(Exchange& exchange, const DriveOptions& options,
                                const std::string& key) {
  Patience patience(exchange, options);
  while (true) {
    Result<std::optional<std::string>> value = exchange.get(key);
    if (!value) return fail(value.error());
    if (*value) return **std::move(value);
    const Result<void> goes_on = patience.look(fmt::format("waiting for '{}' of another rank", key),
                                               "start all ranks, with one exchange folder");
    if (!goes_on) return fail(goes_on.error());
    sleep_for(params::drive::kServicePause);
  }
}

Service::Service(NetPlugin& plugin, Exchange& exchange, const DriveOptions& options, void* context)
    : plugin_(plugin),
      exchange_(exchange),
      options_(options),
      context_(context),
      scratch_(Bytes{params::drive::kScratchBytes}) {}

Result<void> Service::open(const Plan& plan, const StreamSetting& setting) {
  sends_.resize(plan.sends.size());
  receives_.resize(plan.receives.size());
  handles_.resize(plan.sends.size());
  listeners_.resize(plan.receives.size());
  for (size_t i = 0; i < sends_.size(); ++i) sends_[i].plan = &plan.sends[i];
  for (size_t i = 0; i < receives_.size(); ++i) receives_[i].plan = &plan.receives[i];
  for (auto* const comms : {&sends_, &receives_}) {
    for (OpenComm& each : *comms) each.slot_bytes = plan.slot_bytes;
  }
  if (Result<void> listening = listen_all(); !listening) return listening;
  if (Result<void> connected = poll_until_open(); !connected) return connected;
  return register_all(setting);
}

Result<void> Service::listen_all() {
  for (size_t i = 0; i < receives_.size(); ++i) {
    const CommPlan& comm = *receives_[i].plan;
    Handle handle;
    const Status status =
        plugin_.listen(context_, options_.device, handle.bytes.data(), &listeners_[i]);
    if (status != kSuccess) return plugin_failure("listen", comm, status);
    const Result<void> published =
        exchange_.put(comm.key, {handle.bytes.data(), handle.bytes.size()});
    if (!published) return published;
  }
  return {};
}

Result<void> Service::poll_until_open() {
  Patience patience(exchange_, options_);
  const auto is_open = [](const OpenComm& each) { return each.comm != nullptr; };
  while (!std::all_of(sends_.begin(), sends_.end(), is_open) ||
         !std::all_of(receives_.begin(), receives_.end(), is_open)) {
    const Result<bool> connected = poll_connects();
    if (!connected) return fail(connected.error());
    const Result<bool> accepted = poll_accepts();
    if (!accepted) return fail(accepted.error());
    const Result<void> goes_on = patience.look("connecting to the other ranks", plugin_log_hint());
    if (!goes_on) return goes_on;
    if (!*connected && !*accepted) sleep_for(params::drive::kServicePause);
  }
  return {};
}

Result<bool> Service::poll_connects() {
  bool moved = false;
  for (size_t i = 0; i < sends_.size(); ++i) {
    OpenComm& send = sends_[i];
    if (send.comm != nullptr) continue;
    Handle& handle = handles_[i];
    if (!handle.known) {
      const Result<std::optional<std::string>> value = exchange_.get(send.plan->key);
      if (!value) return fail(value.error());
      if (!*value) continue;
      if ((*value)->size() != handle.bytes.size()) {
        return fail(ErrorCode::kInvalid, fmt::format("the handle '{}'", send.plan->key),
                    fmt::format("it has {} bytes", (*value)->size()), "name an empty folder");
      }
      std::copy((*value)->begin(), (*value)->end(), handle.bytes.begin());
      handle.known = true;
    }
    const Status status =
        plugin_.connect(context_, options_.device, handle.bytes.data(), &send.comm);
    if (status != kSuccess) return plugin_failure("connect", *send.plan, status);
    if (send.comm == nullptr) ++polls_;
    moved = moved || send.comm != nullptr;
  }
  return moved;
}

Result<bool> Service::poll_accepts() {
  bool moved = false;
  for (size_t i = 0; i < receives_.size(); ++i) {
    OpenComm& receive = receives_[i];
    if (receive.comm != nullptr) continue;
    const Status status = plugin_.accept(listeners_[i], &receive.comm);
    if (status != kSuccess) return plugin_failure("accept", *receive.plan, status);
    if (receive.comm == nullptr) {
      ++polls_;
      continue;
    }
    const Status closed = plugin_.close_listen(std::exchange(listeners_[i], nullptr));
    if (closed != kSuccess) return plugin_failure("closeListen", *receive.plan, closed);
    moved = true;
  }
  return moved;
}

Result<void> Service::register_all(const StreamSetting& setting) {
  for (auto* const comms : {&sends_, &receives_}) {
    for (OpenComm& each : *comms) {
      const bool is_send = comms == &sends_;
      each.memory = AnonymousMemory(Bytes{slots_of(setting, is_send) * each.slot_bytes});
      if (each.memory.start() == nullptr) {
        return fail(ErrorCode::kExhausted, "cannot allocate the buffers of a comm", "",
                    "choose fewer channels or smaller messages");
      }
      // Pages that were never written share one page of zeros, which no real buffer does.
      if (is_send) fill_payload({each.memory.start(), each.memory.bytes()}, 0, 0);
      const Status status = plugin_.reg_mr(each.comm, each.memory.start(), each.memory.bytes(),
                                           kPointerHost, &each.mhandle);
      if (status != kSuccess) return plugin_failure("regMr", *each.plan, status);
    }
  }
  return {};
}

Result<void> Service::register_once() {
  const size_t comms = sends_.size() + receives_.size();
  const size_t at = next_scratch_++ % comms;
  const OpenComm& comm = at < sends_.size() ? sends_[at] : receives_[at - sends_.size()];
  void* mhandle = nullptr;
  Status status =
      plugin_.reg_mr(comm.comm, scratch_.start(), scratch_.bytes(), kPointerHost, &mhandle);
  if (status != kSuccess) return plugin_failure("regMr", *comm.plan, status);
  status = plugin_.dereg_mr(comm.comm, mhandle);
  if (status != kSuccess) return plugin_failure("deregMr", *comm.plan, status);
  return {};
}

Result<void> Service::close() {
  Result<void> first;
  const auto note = [&first](const char* call, const CommPlan& comm, Status status) {
    if (status != kSuccess && first) first = plugin_failure(call, comm, status);
  };
  for (auto* const comms : {&sends_, &receives_}) {
    for (OpenComm& each : *comms) {
      if (each.comm == nullptr) continue;
      if (each.mhandle != nullptr) {
        note("deregMr", *each.plan, plugin_.dereg_mr(each.comm, each.mhandle));
      }
      const bool sends = comms == &sends_;
      note(sends ? "closeSend" : "closeRecv", *each.plan,
           sends ? plugin_.close_send(each.comm) : plugin_.close_recv(each.comm));
      each.comm = nullptr;
      each.mhandle = nullptr;
    }
  }
  for (size_t i = 0; i < listeners_.size(); ++i) {
    if (listeners_[i] == nullptr) continue;
    note("closeListen", *receives_[i].plan,
         plugin_.close_listen(std::exchange(listeners_[i], nullptr)));
  }
  return first;
}

}  // namespace heddle::nccl
