// The functions of libnats that are used. The library is loaded at run time, so that hosts without
// it run heddle, and packages do not depend on it.
#pragma once

#include <nats/nats.h>

#include <string>

namespace heddle::messaging {

struct NatsLibrary {
  decltype(&nats_Open) open = nullptr;
  decltype(&nats_GetLastError) last_error = nullptr;
  decltype(&natsStatus_GetText) text_of = nullptr;
  decltype(&natsOptions_Create) make_options = nullptr;
  decltype(&natsOptions_Destroy) end_options = nullptr;
  decltype(&natsOptions_SetURL) set_url = nullptr;
  decltype(&natsOptions_SetName) set_name = nullptr;
  decltype(&natsOptions_SetTimeout) set_timeout = nullptr;
  decltype(&natsOptions_SetUserInfo) set_user = nullptr;
  decltype(&natsOptions_SetToken) set_token = nullptr;
  decltype(&natsOptions_SetSecure) set_secure = nullptr;
  decltype(&natsOptions_SetExpectedHostname) set_expected_host = nullptr;
  decltype(&natsOptions_LoadCATrustedCertificates) load_ca = nullptr;
  decltype(&natsOptions_LoadCertificatesChain) load_certificate = nullptr;
  decltype(&natsOptions_SetAllowReconnect) set_reconnect = nullptr;
  decltype(&natsOptions_SetPingInterval) set_ping_interval = nullptr;
  decltype(&natsOptions_SetMaxPingsOut) set_most_pings = nullptr;
  decltype(&natsOptions_SetWriteDeadline) set_write_deadline = nullptr;
  decltype(&natsConnection_Connect) connect = nullptr;
  decltype(&natsConnection_Destroy) end_connection = nullptr;
  decltype(&natsConnection_GetMaxPayload) most_bytes = nullptr;
  decltype(&natsConnection_Publish) publish = nullptr;
  decltype(&natsConnection_FlushTimeout) flush = nullptr;
  decltype(&natsConnection_GetLastError) error_of = nullptr;
  decltype(&natsConnection_SubscribeSync) subscribe = nullptr;
  decltype(&natsSubscription_SetPendingLimits) set_pending = nullptr;
  decltype(&natsSubscription_GetDropped) dropped = nullptr;
  decltype(&natsSubscription_NextMsg) next = nullptr;
  decltype(&natsSubscription_Destroy) end_subscription = nullptr;
  decltype(&natsMsg_GetSubject) subject_of = nullptr;
  decltype(&natsMsg_GetData) data_of = nullptr;
  decltype(&natsMsg_GetDataLength) length_of = nullptr;
  decltype(&natsMsg_Destroy) end_message = nullptr;
  std::string why_not;  // empty: loaded
};

// Loaded by the first call.
const NatsLibrary& nats_library();

}  // namespace heddle::messaging
