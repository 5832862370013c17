// See message_samples.h.
#include "insight/clocks/message_samples.h"

#include <algorithm>

#include "base/hash.h"

namespace heddle::insight {
namespace {

constexpr uint64_t kWay = uint64_t{1} << 63;  // set for messages that the own process sent

uint64_t number_of(uint64_t key) { return mix_bits(key & ~kWay); }

}  // namespace

void MessageSamples::add(const events::AnyEvent& event, size_t most_each) {
  if (const auto* opened = std::get_if<events::ConnectionOpened>(&event)) {
    Connection& connection = connections_[opened->connection];
    connection.peer_id = opened->peer_connection;
    connection.opened = true;
    return;
  }
  const auto* message = std::get_if<events::MessageCompleted>(&event);
  if (message == nullptr) return;
  Connection& connection = connections_[message->connection];
  const uint64_t number = uint64_t{message->channel} << 32 | message->sequence;
  const uint64_t way = message->direction == events::Direction::kSent ? kWay : 0;
  if ((number_of(number) & connection.left_out) != 0) return;
  connection.samples.push_back({number | way, message->time.count});
  if (connection.samples.size() < most_each) return;
  connection.left_out = connection.left_out << 1 | 1;
  std::erase_if(connection.samples, [&connection](const Sample& sample) {
    return (number_of(sample.key) & connection.left_out) != 0;
  });
}

std::vector<MessagePair> MessagePairs::of(const std::vector<MessageSamples>& processes,
                                          const std::vector<uint32_t>& clock_of) {
  using Ids = std::pair<uint32_t, uint32_t>;
  std::map<Ids, std::pair<uint32_t, const MessageSamples::Connection*>> by_ids;
  for (uint32_t process = 0; process < processes.size(); ++process) {
    for (const auto& [id, connection] : processes[process].connections_) {
      if (connection.opened) by_ids[{id, connection.peer_id}] = {process, &connection};
    }
  }
  std::vector<MessagePair> pairs;
  std::unordered_map<uint64_t, int64_t> theirs;
  for (const auto& [ids, end] : by_ids) {
    const auto peer = by_ids.find({ids.second, ids.first});
    if (ids.first >= ids.second || peer == by_ids.end()) continue;
    const uint32_t own = end.first;
    const uint32_t other = peer->second.first;
    if (clock_of[own] == clock_of[other]) continue;
    theirs.clear();
    for (const auto& sample : peer->second.second->samples) {
      theirs[sample.key ^ kWay] = sample.at_ns;
    }
    for (const auto& sample : end.second->samples) {
      const auto found = theirs.find(sample.key);
      if (found == theirs.end()) continue;
      if ((sample.key & kWay) != 0) {
        pairs.push_back({own, other, sample.at_ns, found->second});
      } else {
        pairs.push_back({other, own, found->second, sample.at_ns});
      }
    }
  }
  return pairs;
}

}  // namespace heddle::insight
