"use strict";
// The formulas of heddle size cluster, for other rates, replicas, sites and distances. No page is needed to run them.
const sizeFormulas = (() => {
  const placeGroup = (ranks, stride, perNode) => {
    const fits = Math.min(ranks, Math.floor(perNode / Math.min(stride, perNode)));
    if (stride >= perNode || ranks % fits !== 0) return { in_node: 1, nodes: ranks };
    return { in_node: fits, nodes: ranks / fits };
  };

  const nvlinkBytes = ({ kind, calls, buffer_bytes }, { in_node: g, nodes: k }) => {
    const sent = calls * buffer_bytes;
    if (kind === "all_reduce") return 2 * (g - 1) / g * sent;
    return kind === "all_to_all" ? sent * (g - 1) / (g * k) : (g - 1) / g * sent;
  };

  const nicBytes = ({ kind, calls, buffer_bytes }, { in_node: g, nodes: k }) => {
    const sent = calls * buffer_bytes;
    if (kind === "all_reduce") return 2 * (k - 1) / k * sent / g;
    return kind === "all_to_all" ? sent * (g * k - g) / (g * k) : (k - 1) / k * sent / g;
  };

  const passes = (movement) => movement.kind === "all_reduce" ? 2 : 1;

  // A link that the GPUs of a site share.
  const siteLink = (model, asked, gpusOfSite) => {
    const { mtu_bytes: mtu, header_bytes: header } = model;
    const capacity = asked.site_bits_per_s * mtu / (mtu + header);
    const roundTrip = model.base_rtt_s + 2 * asked.site_km * model.seconds_a_km;
    const fills = capacity / 8 * roundTrip / gpusOfSite + mtu;
    const window = model.gpu_window_bytes > 0 ? model.gpu_window_bytes : fills;
    const lossless = Math.min(capacity, 8 * window * gpusOfSite / (roundTrip + 8 * mtu / capacity));
    const repeated = model.go_back_n ? Math.max(1, lossless * roundTrip / (8 * mtu) / gpusOfSite) : 1;
    const loss = model.site_loss;
    return { capacity, roundTrip, lossless, goodput: lossless * (1 - loss) / (1 - loss + loss * repeated) };
  };

  // The sizes that `asked` can have: replicas that sites and expert parallel groups divide.
  const fits = (model, replicas, sites) =>
    replicas % sites === 0 && replicas / sites * model.context % model.expert === 0;

  const siteNeeds = (model, asked, link, sum, gpusOfSite, window) => {
    const waiting = sum.round_trips * link.roundTrip;
    const product = asked.site_bits_per_s * link.roundTrip / 8;
    const needs = {
      site_bytes: sum.site_bytes,
      site_round_trip_s: link.roundTrip,
      site_lossless_bits_per_s: link.lossless,
      site_goodput_bits_per_s: link.goodput,
      site_s: 8 * sum.site_bytes / link.goodput + waiting,
      site_window_bytes: (link.capacity / 8 * link.roundTrip + model.mtu_bytes) / gpusOfSite,
      site_buffer_bytes: product / Math.sqrt(gpusOfSite),
      site_lossless_buffer_bytes: product,
    };
    // Missing: it does not fit at any distance, at any rate.
    const km = (window - sum.full_rate_s - sum.round_trips * model.base_rtt_s) / (sum.round_trips * 2 * model.seconds_a_km);
    if (km > 0) needs.site_most_km = km;
    if (waiting < window) needs.needed_site_bits_per_s = 8 * sum.site_bytes / (window - waiting) / model.nic_share;
    return needs;
  };

  // `asked` has replicas, sites, nic_bits_per_s, overlap, site_km and site_bits_per_s. The result has the figures of
  // heddle size cluster by their names, and what each carrier takes alone.
  const cluster = (model, asked) => {
    const gpus = asked.replicas * model.tensor * model.context * model.pipeline;
    const gpusOfSite = gpus / asked.sites;
    const nic = asked.nic_bits_per_s * model.nic_share / model.oversubscription;
    const nvlink = model.nvlink_bits_per_s;
    const link = siteLink(model, asked, gpusOfSite);
    const times = (movement, place) => ({
      nvlink: nvlink > 0 ? 8 * nvlinkBytes(movement, place) / nvlink : 0,
      nic: 8 * nicBytes(movement, place) / nic,
    });
    let layers = 0;
    for (const movement of model.layers) {
      const { nvlink: inside, nic: outside } = times(movement, movement);
      layers += Math.max(inside, outside);
    }
    const sum = { data: 0, nvlink_s: 0, nic_s: 0, nvlink_bytes: 0, nic_bytes: 0, site_bytes: 0, round_trips: 0,
      full_rate_s: 0, buckets: 0, last_s: 0 };
    for (const movement of model.data) {
      const ranks = asked.replicas * model.context / movement.divisor;
      // A single rank holds all copies itself.
      if (ranks < 2) continue;
      const place = placeGroup(ranks / asked.sites, movement.stride, model.gpus_per_node);
      place.nodes *= asked.sites;
      const { nvlink: inside, nic: outside } = times(movement, place);
      const ofSite = gpusOfSite * passes(movement) * (asked.sites - 1) * movement.calls * movement.buffer_bytes / ranks;
      const trips = movement.calls * passes(movement) * (asked.sites - 1) / 2;
      const between = asked.sites > 1 ? 8 * ofSite / link.goodput : 0;
      const carried = Math.max(inside, outside, between), waiting = trips * link.roundTrip;
      const buckets = movement.calls * Math.ceil(movement.buffer_bytes / model.bucket_bytes);
      sum.data += carried + waiting;
      sum.buckets += buckets;
      sum.last_s += carried / buckets + waiting / movement.calls;
      sum.full_rate_s += Math.max(inside, outside, 8 * ofSite / link.capacity);
      sum.nvlink_s += inside;
      sum.nic_s += outside;
      sum.nvlink_bytes += nvlinkBytes(movement, place);
      sum.nic_bytes += nicBytes(movement, place);
      sum.site_bytes += ofSite;
      sum.round_trips += trips;
    }
    const window = asked.overlap * model.window_share * (model.compute_s + layers);
    const exposed = sum.buckets > 0 ? Math.max(sum.last_s, sum.data - window + window / sum.buckets) : 0;
    const bubble = (model.compute_s + layers) * model.bubble_share;
    const step = model.compute_s + layers + bubble + exposed;
    const found = {
      gpus,
      compute_s: model.compute_s,
      layers_s: layers,
      bubble_s: bubble,
      data_s: sum.data,
      buckets: sum.buckets,
      last_bucket_s: sum.last_s,
      data_nic_bytes: sum.nic_bytes,
      window_s: window,
      exposed_s: exposed,
      step_s: step,
      tokens_per_s: model.tokens_a_replica * asked.replicas / step,
      needed_wire_bits_per_s: 8 * sum.nic_bytes / window / model.nic_share * model.oversubscription,
      needed_bisection_bits_per_s: gpus / 2 * 8 * sum.nic_bytes / window / model.nic_share,
      port_buffer_bytes: asked.nic_bits_per_s * model.base_rtt_s / 8,
      limits: [["NVLink", sum.nvlink_bytes, sum.nvlink_s], ["NICs of a GPU", sum.nic_bytes, sum.nic_s]],
    };
    if (asked.sites === 1) return found;
    Object.assign(found, siteNeeds(model, asked, link, sum, gpusOfSite, window));
    found.limits.push(["a site's link to the next", found.site_bytes, found.site_s]);
    return found;
  };

  return { cluster, fits };
})();
