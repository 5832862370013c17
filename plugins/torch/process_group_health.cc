// ProcessGroupHeddle, sixth part: which ranks answer. A connection is opened to the endpoint of
// each, which its progress thread accepts whatever the rank's program does, and closed again.
#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "collectives/progress_thread.h"
#include "plugins/torch/params.h"
#include "plugins/torch/process_group.h"

namespace heddle::pytorch {
namespace {

using engine::ConnectionState;

struct Question {
  uint32_t rank = 0;
  engine::Connection connection = 0;
};

// True: there is nothing more to wait for.
bool take_answer(engine::Endpoint& endpoint, const Question& question, PeersThatAnswer& answers) {
  const engine::ConnectionStatus status = endpoint.status(question.connection);
  if (status.state == ConnectionState::kOpening) return false;
  if (status.state == ConnectionState::kOpen) {
    answers.answered.push_back(question.rank);
  } else {
    answers.silent[question.rank] = status.error.message();
  }
  endpoint.abort(question.connection);
  return true;
}

}  // namespace

PeersThatAnswer ProcessGroupHeddle::peers_that_answer(Nanos timeout) {
  const auto communicator = this->communicator();
  const std::shared_ptr<collectives::DrivenEndpoint> driven = this->endpoint();
  engine::Endpoint& endpoint = collectives::DrivenEndpoint::thread_of(driven)->endpoint();
  PeersThatAnswer answers;
  std::vector<Question> open;
  for (uint32_t rank = 0; rank < communicator->size(); ++rank) {
    if (rank == communicator->rank()) continue;
    const auto made = endpoint.connect(communicator->members().addresses[rank], {.paths = 1});
    if (made) {
      open.push_back({rank, *made});
    } else {
      answers.silent[rank] = made.error().message();
    }
  }
  endpoint.interrupt();  // the progress thread may sleep
  const auto until = std::chrono::steady_clock::now() + std::chrono::nanoseconds(timeout.count);
  while (!open.empty()) {
    std::erase_if(open, [&](const Question& each) { return take_answer(endpoint, each, answers); });
    if (open.empty() || std::chrono::steady_clock::now() >= until) break;
    std::this_thread::sleep_for(params::kLooksEvery);
  }
  for (const Question& each : open) {
    endpoint.abort(each.connection);
    answers.silent[each.rank] = "it does not answer";
  }
  std::ranges::sort(answers.answered);
  return answers;
}

}  // namespace heddle::pytorch
