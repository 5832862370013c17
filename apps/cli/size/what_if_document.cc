// See what_if_document.h.
#include "apps/cli/size/what_if_document.h"

namespace heddle::cli {
namespace {

const char* kind_name(planner::MovementKind kind) {
  switch (kind) {
    case planner::MovementKind::kAllReduce:
      return "all_reduce";
    case planner::MovementKind::kGather:
      return "gather";
    case planner::MovementKind::kAllToAll:
      return "all_to_all";
    case planner::MovementKind::kPointToPoint:
      break;
  }
  return "point_to_point";
}

Json json_of(const planner::Movement& movement) {
  return {{"name", movement.name},
          {"kind", kind_name(movement.kind)},
          {"calls", movement.calls},
          {"buffer_bytes", movement.buffer_bytes},
          {"in_node", movement.place.in_node},
          {"nodes", movement.place.nodes}};
}

}  // namespace

Json what_if_document(const planner::WhatIf& what_if, const planner::ClusterQuestion& question) {
  const planner::JobShape& job = what_if.job;
  const planner::SiteLink& link = question.site_link;
  Json layers = Json::array();
  for (const planner::Movement& each : what_if.layers) layers.push_back(json_of(each));
  Json data = Json::array();
  for (const planner::WhatIfExchange& each : what_if.data) {
    Json exchange = json_of(each.movement);
    exchange["divisor"] = each.divisor;
    exchange["stride"] = each.stride;
    data.push_back(std::move(exchange));
  }
  return {{"asked",
           {{"replicas", job.data},
            {"sites", job.sites},
            {"nic_bits_per_s", question.fabric.nic_bits_per_s},
            {"overlap", question.overlap},
            {"site_km", link.km},
            {"site_bits_per_s", link.bits_per_s}}},
          {"model",
           {{"tensor", job.tensor},
            {"context", job.context},
            {"pipeline", job.pipeline},
            {"expert", job.expert},
            {"gpus_per_node", job.gpus_per_node},
            {"tokens_a_replica", job.batch / job.data * job.sequence},
            {"compute_s", what_if.compute_s},
            {"bubble_share", what_if.bubble_share},
            {"window_share", what_if.window_share},
            {"oversubscription", question.fabric.oversubscription},
            {"nvlink_bits_per_s", what_if.nvlink_bits_per_s},
            {"nic_share", what_if.nic_share},
            {"header_bytes", what_if.header_bytes},
            {"mtu_bytes", what_if.mtu_bytes},
            {"seconds_a_km", what_if.seconds_a_km},
            {"base_rtt_s", question.base_rtt_s},
            {"bucket_bytes", question.bucket_bytes},
            {"site_loss", link.loss},
            {"go_back_n", link.go_back_n},
            {"gpu_window_bytes", link.gpu_window_bytes},
            {"layers", std::move(layers)},
            {"data", std::move(data)}}}};
}

}  // namespace heddle::cli
