// ProcessGroupHeddle, third part: messages between two ranks.
#include <stdexcept>
#include <utility>

#include "plugins/torch/errors.h"
#include "plugins/torch/process_group.h"

namespace heddle::pytorch {
namespace {

using collectives::Call;
using collectives::Collective;

template <typename T>
T value_or_throw(Result<T> result, const std::string& about) {
  if (!result) throw std::runtime_error("heddle: " + about + text_of(result.error()));
  return std::move(*result);
}

void check_message(const Tensors& tensors, int tag, const char* name) {
  TORCH_CHECK(tensors.size() == 1, "heddle: cannot ", name, " several tensors at once");
  TORCH_CHECK(tag >= 0, "heddle: cannot ", name, " with the tag ", tag, ": tags count from 0");
  check_tensor(tensors[0], name);
}

// `peer` is the other's rank in the pair.
Call call_of(const Buffer& buffer, bool sends, uint32_t peer) {
  const Elements elements = elements_of(buffer.type());
  return {.collective = sends ? Collective::kSend : Collective::kReceive,
          .type = elements.type,
          .root = peer,
          .count = buffer.elements() * elements.each,
          .input = sends ? buffer.data() : nullptr,
          .output = sends ? nullptr : buffer.data()};
}

uint64_t bytes_of(const Call& call) { return call.count * collectives::size_of(call.type); }

}  // namespace

// A message follows its announcement; see any_source.h.
WorkPtr ProcessGroupHeddle::message(Tensors& tensors, int peer, int tag, bool sends) {
  const char* const name = sends ? "send" : "recv";
  const Seat seat = own_seat();
  check_message(tensors, tag, name);
  const uint32_t other = check_rank(seat, peer, name);
  const auto all = pairs_of(seat);
  Plan plan = {.type = sends ? c10d::OpType::SEND : c10d::OpType::RECV,
               .title = sends ? "heddle:send" : "heddle:recv"};
  plan.source = sends ? -1 : peer;
  plan.about = std::string(name) + (sends ? " to rank " : " from rank ") + std::to_string(peer) +
               " with tag " + std::to_string(tag) + ": ";
  plan.buffers.push_back(sends ? Buffer::of_input(tensors) : Buffer::of_output(tensors));
  const Call call = call_of(plan.buffers[0], sends, all->rank_of(other));
  plan.results = plan.inputs = tensors;
  WorkPtr work;
  const auto post = [&] {
    const at::Tensor announced = at::full({1}, static_cast<int64_t>(bytes_of(call)), at::kLong);
    plan.buffers.push_back(Buffer::of_both({announced}));
    plan.calls = {announcement_call(sends, call.root, plan.buffers[1].data()), call};
    const auto pair = value_or_throw(all->with(other, tag), plan.about);
    work = HeddleWork::start(pair, seat.rank, std::move(plan), timeout_);
  };
  if (sends) {
    post();
  } else if (!seat.any_source->post_directly(other, tag, post)) {
    plan.calls = {call};
    return receive_any(seat, std::move(plan), other, tag);
  }
  return work;
}

WorkPtr ProcessGroupHeddle::send(Tensors& tensors, int to, int tag) {
  return message(tensors, to, tag, true);
}

WorkPtr ProcessGroupHeddle::recv(Tensors& tensors, int from, int tag) {
  return message(tensors, from, tag, false);
}

WorkPtr ProcessGroupHeddle::recvAnysource(Tensors& tensors, int tag) {
  const Seat seat = own_seat();
  check_message(tensors, tag, "recv");
  Plan plan = {.type = c10d::OpType::RECVANYSOURCE, .title = "heddle:recvAnySource"};
  plan.about = "recv from any rank with tag " + std::to_string(tag) + ": ";
  plan.buffers.push_back(Buffer::of_output(tensors));
  plan.calls = {call_of(plan.buffers[0], false, 0)};
  plan.results = plan.inputs = tensors;
  return receive_any(seat, std::move(plan), std::nullopt, tag);
}

WorkPtr ProcessGroupHeddle::receive_any(const Seat& seat, Plan plan, std::optional<uint32_t> source,
                                        int tag) {
  static_cast<void>(pairs_of(seat));  // throws where the group has left
  AnySource::Request request = {.tag = tag, .source = source, .bytes = bytes_of(plan.calls[0])};
  auto work = HeddleWork::prepare_receive(seat.rank, std::move(plan), timeout_);
  request.begin = [work, tag](uint32_t from, Pairs& all) {
    const auto pair = all.with(from, tag);
    if (!pair) return work->refuse(pair.error());
    HeddleWork::receive_from(work, *pair, from, all.rank_of(from));
  };
  request.refuse = [work](const Error& error) { work->refuse(error); };
  const std::shared_ptr<AnySource> held = seat.any_source;
  const uint64_t number = held->receive(std::move(request));
  // Raw, since the work holds it.
  work->set_give_up([held, raw = work.get(), tag, number, limit = timeout_.load()] {
    if (!held->cancel(tag, number)) return;
    raw->refuse(fail(ErrorCode::kTimeout,
                     "no rank has sent a message in " + std::to_string(limit.count()) + " ms")
                    .error);
  });
  return work;
}

}  // namespace heddle::pytorch
