// Traffic: the streams of a rank, turned by the progress thread until an amount of work is done.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "nccl/drive/comm.h"

namespace heddle::nccl {

class Traffic {
 public:
  Traffic(const StreamSetting& setting, std::vector<OpenComm>& sends,
          std::vector<OpenComm>& receives, Nanos patience);

  // Runs `iterations` more; spins until all are done. Errors: the plugin's, kTruncated, kCancelled
  // (cancel() was called), kTimeout where nothing moved for `patience`.
  Result<void> run(uint64_t iterations);
  // From another thread.
  void cancel() { cancelled_.store(true); }

 private:
  // True where anything moved.
  Result<bool> turn();
  bool finished() const;

  std::vector<ReceiveStream> receives_;
  std::vector<SendStream> sends_;
  Nanos patience_;
  std::atomic<bool> cancelled_ = false;
};

}  // namespace heddle::nccl
