// See library.h.
#include "messaging/nats/library.h"

#include <dlfcn.h>

namespace heddle::messaging {
namespace {

class Loader {
 public:
  explicit Loader(NatsLibrary& made) : made_(made) {
    for (const char* const name : {"libnats.so.3.4", "libnats.so"}) {
      if (library_ == nullptr) library_ = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    }
    if (library_ != nullptr) return;
    const char* const why = dlerror();
    made_.why_not = why == nullptr ? "libnats cannot be loaded" : why;
  }

  template <typename Function>
  void find(const char* name, Function& to) {
    if (library_ == nullptr) return;
    to = reinterpret_cast<Function>(dlsym(library_, name));
    if (to == nullptr && made_.why_not.empty()) {
      made_.why_not = std::string("libnats has no function ") + name;
    }
  }

 private:
  NatsLibrary& made_;
  void* library_ = nullptr;
};

NatsLibrary load_library() {
  NatsLibrary made;
  Loader loader(made);
  loader.find("nats_Open", made.open);
  loader.find("nats_GetLastError", made.last_error);
  loader.find("natsStatus_GetText", made.text_of);
  loader.find("natsOptions_Create", made.make_options);
  loader.find("natsOptions_Destroy", made.end_options);
  loader.find("natsOptions_SetURL", made.set_url);
  loader.find("natsOptions_SetName", made.set_name);
  loader.find("natsOptions_SetTimeout", made.set_timeout);
  loader.find("natsOptions_SetUserInfo", made.set_user);
  loader.find("natsOptions_SetToken", made.set_token);
  loader.find("natsOptions_SetSecure", made.set_secure);
  loader.find("natsOptions_SetExpectedHostname", made.set_expected_host);
  loader.find("natsOptions_LoadCATrustedCertificates", made.load_ca);
  loader.find("natsOptions_LoadCertificatesChain", made.load_certificate);
  loader.find("natsOptions_SetAllowReconnect", made.set_reconnect);
  loader.find("natsOptions_SetPingInterval", made.set_ping_interval);
  loader.find("natsOptions_SetMaxPingsOut", made.set_most_pings);
  loader.find("natsOptions_SetWriteDeadline", made.set_write_deadline);
  loader.find("natsConnection_Connect", made.connect);
  loader.find("natsConnection_Destroy", made.end_connection);
  loader.find("natsConnection_GetMaxPayload", made.most_bytes);
  loader.find("natsConnection_Publish", made.publish);
  loader.find("natsConnection_FlushTimeout", made.flush);
  loader.find("natsConnection_GetLastError", made.error_of);
  loader.find("natsConnection_SubscribeSync", made.subscribe);
  loader.find("natsSubscription_SetPendingLimits", made.set_pending);
  loader.find("natsSubscription_GetDropped", made.dropped);
  loader.find("natsSubscription_NextMsg", made.next);
  loader.find("natsSubscription_Destroy", made.end_subscription);
  loader.find("natsMsg_GetSubject", made.subject_of);
  loader.find("natsMsg_GetData", made.data_of);
  loader.find("natsMsg_GetDataLength", made.length_of);
  loader.find("natsMsg_Destroy", made.end_message);
  return made;
}

}  // namespace

const NatsLibrary& nats_library() {
  static const NatsLibrary loaded = load_library();
  return loaded;
}

}  // namespace heddle::messaging
