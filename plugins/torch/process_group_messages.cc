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

}  // namespace

WorkPtr ProcessGroupHeddle::message(Tensors& tensors, int peer, int tag, bool sends) {
  const char* const name = sends ? "send" : "recv";
  check_message(tensors, tag, name);
  const uint32_t other = check_rank(peer, name);
  const Elements elements = elements_of(tensors[0].scalar_type());
  Plan plan = {.type = sends ? c10d::OpType::SEND : c10d::OpType::RECV,
               .title = sends ? "heddle:send" : "heddle:recv"};
  plan.source = sends ? -1 : peer;
  plan.about = std::string(name) + (sends ? " to rank " : " from rank ") + std::to_string(peer) +
               " with tag " + std::to_string(tag) + ": ";
  plan.buffers.push_back(sends ? Buffer::of_input(tensors) : Buffer::of_output(tensors));
  plan.calls.push_back({.collective = sends ? Collective::kSend : Collective::kReceive,
                        .type = elements.type,
                        .root = pairs()->rank_of(other),
                        .count = plan.buffers[0].elements() * elements.each,
                        .input = sends ? plan.buffers[0].data() : nullptr,
                        .output = sends ? nullptr : plan.buffers[0].data()});
  plan.results = plan.inputs = tensors;
  if (!sends && any_source_->holds_messages_of(other, tag)) {
    return receive_any(std::move(plan), elements, other, tag);
  }
  const auto pair = value_or_throw(pairs()->with(other, tag), plan.about);
  return HeddleWork::start(pair, rank_, std::move(plan), timeout_);
}

WorkPtr ProcessGroupHeddle::send(Tensors& tensors, int to, int tag) {
  return message(tensors, to, tag, true);
}

WorkPtr ProcessGroupHeddle::recv(Tensors& tensors, int from, int tag) {
  return message(tensors, from, tag, false);
}

WorkPtr ProcessGroupHeddle::recvAnysource(Tensors& tensors, int tag) {
  check_message(tensors, tag, "recv");
  Plan plan = {.type = c10d::OpType::RECVANYSOURCE, .title = "heddle:recvAnySource"};
  plan.about = "recv from any rank with tag " + std::to_string(tag) + ": ";
  plan.buffers.push_back(Buffer::of_output(tensors));
  plan.results = plan.inputs = tensors;
  return receive_any(std::move(plan), elements_of(tensors[0].scalar_type()), std::nullopt, tag);
}

WorkPtr ProcessGroupHeddle::receive_any(Plan plan, const Elements& elements,
                                        std::optional<uint32_t> source, int tag) {
  plan.calls.clear();  // those of AnySource instead
  const uint64_t count = plan.buffers[0].elements() * elements.each;
  AnySource::Request request = {.tag = tag,
                                .source = source,
                                .type = elements.type,
                                .count = count,
                                .bytes = count * collectives::size_of(elements.type)};
  const std::string about = plan.about;
  auto work = HeddleWork::start_receive(rank_, std::move(plan), timeout_);
  request.on_end = [work](uint32_t from, Result<AnySource::Bytes> message) {
    HeddleWork::deliver(work, from, std::move(message));
  };
  const uint64_t number = value_or_throw(any_source_->receive(*pairs(), std::move(request)), about);
  // Raw, since the work holds it.
  work->set_give_up([held = any_source_, raw = work.get(), tag, number, limit = timeout_] {
    if (!held->cancel(tag, number)) return;
    HeddleWork::deliver(c10::intrusive_ptr<HeddleWork>::reclaim_copy(raw), 0,
                        fail(ErrorCode::kTimeout, "no rank has sent a message in " +
                                                      std::to_string(limit.count()) + " ms"));
  });
  return work;
}

}  // namespace heddle::pytorch
