// Defaults of the contract that are more than nothing.
#include "datapath/datapath.h"

namespace heddle::datapath {

Result<transport::RegionId> Datapath::register_device_memory(const DeviceMemory& /*memory*/,
                                                             size_t /*bytes*/) {
  return fail(ErrorCode::kUnavailable, "cannot register memory of a device",
              "this datapath moves payload by the processor",
              "register its mapping, or use RDMA verbs (datapath = verbs, rdma_mode = rc or uc)");
}

}  // namespace heddle::datapath
