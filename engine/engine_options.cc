// See engine_options.h.
#include "engine/engine_options.h"

namespace heddle::engine {

Options engine_options(const Options& options, const transport::EngineShare& share) {
  Options own = options;
  if (share.count == 1) return own;
  const uint64_t count = share.count;
  transport::EndpointOptions& transport = own.transport;
  transport.engine = share;
  transport.max_sent_runs /= share.count;
  own.eager_bytes = {own.eager_bytes.count / count};
  own.drive = Drive::kThread;
  if (own.seed != 0) own.seed ^= share.index * uint64_t{0x9e3779b97f4a7c15};
  return own;
}

}  // namespace heddle::engine
