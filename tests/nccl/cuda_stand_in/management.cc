// The functions of NVML (libnvidia-ml.so) that NCCL needs, for the one device of the stand-in.
// NCCL does without those that are missing.
#include "tests/nccl/cuda_stand_in/handles.h"

namespace heddle::cuda_stand_in {

namespace {
void* the_device() {
  static char only = 0;
  return &only;
}
}  // namespace

extern "C" {

int nvmlInit_v2() { return kSuccess; }
int nvmlShutdown() { return kSuccess; }
int nvmlDeviceGetCount_v2(unsigned* count) { return give(count, 1); }
const char* nvmlErrorString(int) { return "error of the NVML stand-in"; }
int nvmlDeviceGetHandleByIndex(unsigned, void** device) { return give(device, the_device()); }
int nvmlDeviceGetHandleByPciBusId(const char*, void** device) { return give(device, the_device()); }
int nvmlDeviceGetIndex(void*, unsigned* index) { return give(index, 0); }
int nvmlDeviceGetCudaComputeCapability(void*, int* major, int* minor) {
  *major = 8;
  *minor = 0;
  return kSuccess;
}
int nvmlDeviceGetP2PStatus(void*, void*, int, int* status) { return give(status, 0); }

}  // extern "C"
}  // namespace heddle::cuda_stand_in
