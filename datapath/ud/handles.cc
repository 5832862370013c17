// See handles.h.
#include "datapath/ud/handles.h"

#include <infiniband/verbs.h>

#include <cstring>

#include "base/hash.h"
#include "datapath/ud/params.h"
#include "datapath/verbs/params.h"

namespace heddle::datapath {

ibv_ah* UdHandles::find(const transport::Address& to, uint16_t path, bool ecn_capable) {
  constexpr uint8_t kEct0 = 2;
  const Key key{to.host, path, ecn_capable};
  if (const auto found = handles_.find(key); found != handles_.end()) return found->second;
  // A datagram whose handle goes may be lost.
  if (handles_.size() == ud_params::kMostHandles) clear();
  ibv_ah_attr wish{};
  wish.is_global = 1;
  wish.port_num = static_cast<uint8_t>(device_.choice().port);
  wish.grh.sgid_index = static_cast<uint8_t>(device_.choice().gid.index);
  wish.grh.hop_limit = verbs_params::kHopLimit;
  wish.grh.traffic_class = static_cast<uint8_t>(traffic_class_ | (ecn_capable ? kEct0 : 0));
  uint64_t host = 0;
  std::memcpy(&host, to.host.data() + 8, sizeof host);
  wish.grh.flow_label = static_cast<uint32_t>(mix_bits(host + path)) & 0xfffff;
  std::memcpy(wish.grh.dgid.raw, to.host.data(), to.host.size());
  ibv_ah* const made = device_.library().create_ah(device_.domain(), &wish);
  if (made != nullptr) handles_.emplace(key, made);
  return made;
}

void UdHandles::clear() {
  for (const auto& [key, handle] : handles_) device_.library().destroy_ah(handle);
  handles_.clear();
}

}  // namespace heddle::datapath
