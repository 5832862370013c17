"""The planted mistakes. Each replaces a text that stands exactly once in its file; `breaks` says
what the protocol then does wrong, and `seeds` how many the proof may take to find it."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Mutant:
    name: str
    file: str
    breaks: str
    original: str
    mutated: str
    seeds: int = 400
    first: int = 1
    program: str = "heddle-vopr"
    tests: str = ""  # of another program, by which it is caught


def of_agreement(name, breaks, original, mutated, file="membership_agreement.cc"):
    return Mutant(name, "collectives/membership/" + file, breaks, original, mutated,
                  program="collectives_test", tests="*MembershipAgreement*")


CONNECTION = "transport/connection/"
MESSAGES = "transport/messages/"

MUTANTS = [
    # --- what is received ---
    Mutant("known_bytes_placed_again", MESSAGES + "incoming.cc",
           "bytes that came before are taken for new",
           "const uint64_t known = message.received.covered_within(from, to);",
           "const uint64_t known = 0;"),
    Mutant("complete_with_a_hole", MESSAGES + "incoming.cc",
           "a receive ends before its last bytes are there",
           "  return message.complete() ||",
           "  return (message.started && 2 * message.received.covered() >= message.message_bytes) ||"),
    Mutant("completions_out_of_order", MESSAGES + "incoming.cc",
           "receives of one channel end in another order than they were posted",
           "    completions_.push_back(\n", "    completions_.push_front(\n"),
    Mutant("eager_block_lost", MESSAGES + "placement.cc",
           "the memory of an early message is not given back",
           "  eager_.give_back(message.eager_block);\n", ""),
    Mutant("eager_bytes_misplaced", MESSAGES + "placement.cc",
           "what waited for its receive moves to the buffer's start",
           "      placement.to_offset = message.buffer.offset + start;",
           "      placement.to_offset = message.buffer.offset;", 1200),
    Mutant("withdrawn_receive_acknowledged", MESSAGES + "incoming.cc",
           "a message is acknowledged although its receive was withdrawn",
           "    return {!was_withdrawn(header.channel, header.sequence), DropReason::kStaleMessage, 0};",
           "    return {true, DropReason::kStaleMessage, 0};"),
    Mutant("receives_posted_without_bound", MESSAGES + "incoming.cc",
           "more receives are granted than the peer remembers",
           "(heard || unheard_ < limits_.max_posted)", "true"),
    # --- credits ---
    Mutant("demand_forgotten", "transport/extensions/credits.cc",
           "a receiver does not learn that there is more to send",
           "  if (due) parts().control.send(", "  if (due && now < Nanos{}) parts().control.send("),
    # --- what is sent ---
    Mutant("complete_before_the_grant", MESSAGES + "outgoing.cc",
           "a send ends before its receive is known to be posted",
           "    const bool delivered = message.granted && message.acked",
           "    const bool delivered = message.acked"),
    Mutant("eager_without_bound", MESSAGES + "outgoing.cc",
           "more messages go ahead than the peer has blocks for",
           " || ahead_ >= limits_.eager_blocks) return false;", ") return false;"),
    Mutant("exact_fit_is_too_long", MESSAGES + "outgoing.cc",
           "a message as long as its receive counts as longer",
           "  } else if (message.length() > grant.capacity) {",
           "  } else if (message.length() >= grant.capacity) {"),
    Mutant("withdrawn_message_unannounced", MESSAGES + "outgoing.cc",
           "the receive that a withdrawn message used up never ends",
           "      truncated_.push_back(cancel_of(id, over->sequence));\n", ""),
    Mutant("wrapped_sequences", MESSAGES + "outgoing.cc",
           "sequence numbers are compared as if they never wrapped",
           "c.head.steps_to(sequence).value_or(-1)",
           "int64_t{sequence.value()} - int64_t{c.head.value()}"),
    Mutant("repeat_of_the_wrong_bytes", CONNECTION + "burst_sender.cc",
           "a burst carries the bytes of its message's start",
           "  burst.offset = piece.payload.offset + piece.offset;\n  parts_.keys.protect(",
           "  burst.offset = piece.payload.offset;\n  parts_.keys.protect("),
    # --- recovery ---
    Mutant("lost_grants_forgotten", CONNECTION + "control_queue.cc",
           "frames of a lost packet are not retransmitted",
           "    send(record);\n  }\n}", "  }\n}"),
    Mutant("lost_bytes_forgotten", MESSAGES + "outgoing.cc",
           "the last lost byte range is not sent again",
           "  message->lost_ahead |= !message->granted;\n  if (!message->granted) return;",
           "  message->lost_ahead |= !message->granted;\n  if (!message->granted || record.offset > 0) return;"),
    Mutant("last_segment_unacknowledged", CONNECTION + "data_receiver.cc",
           "the last segment of a message is never acknowledged",
           "  if (!verdict.acknowledge) return;\n  parts_.",
           "  if (burst.header.offset + burst.bytes() == burst.header.message_bytes) return;\n  parts_."),
    Mutant("peer_window_ignored", "transport/send/send_window.cc",
           "more is in flight than the receiver said that it can hold",
           "  const uint64_t fits = std::min(quota / size, (room - std::min(room, reserved_)) / cost);",
           "  const uint64_t fits = quota / size;", 2500, 5701),  # one seed in 2,000 finds it
    Mutant("no_tail_probe", "transport/send/send_controller.cc",
           "nothing asks for the acknowledgement of the last segments",
           "  if (!path.probe_at.due(now)) return;\n", "  return;\n"),
    Mutant("path_never_returns", "transport/send/send_controller.cc",
           "a path that was suspect carries nothing again",
           "  if (!path.active()) on_path_event(now, id, PathEvent::kAcked);\n", ""),
    Mutant("losses_kept_for_ever", "transport/recovery/sent_bursts.cc",
           "records of losses are never given back",
           "    if (settled && (run.sent_at < horizon || lost_bursts_ > params::kLostBurstsRemembered)) {",
           "    if (settled && lost_bursts_ > params::kLostBurstsRemembered) {", 1200, 801),
    Mutant("peer_never_dead", CONNECTION + "keep_alive.cc",
           "a peer that is gone is waited for without end",
           "  return unanswered != Nanos::never() && now - unanswered >= dead_after_;",
           "  return now < Nanos{} && unanswered != Nanos::never();"),
    Mutant("close_without_waiting", CONNECTION + "close.cc",
           "a graceful close cuts off sends that are under way",
           "  return requested_ && !frame_sent_ && sends_posted == 0;",
           "  return requested_ && !frame_sent_ && sends_posted < UINT32_MAX;"),
    # --- remote writes ---
    Mutant("no_recall", "engine/driver.cc",
           "a NIC reads the buffer of a send that has ended",
           "  datapath_.recall(request);\n", "", 400, 401),
    Mutant("no_fence", MESSAGES + "remote_receives.cc",
           "a buffer ends while a write that was given up may still land",
           "  return std::all_of(message.writes.begin(), message.writes.end(),",
           "  return true || std::all_of(message.writes.begin(), message.writes.end(),", 2400, 801),
    Mutant("prediction_over_chunks", MESSAGES + "incoming.cc",
           "datagrams are received where a NIC writes",
           "  if (message.failed || message.slot != kNoSlot) return false;",
           "  if (message.failed) return false;"),
    # --- cluster keys ---
    Mutant("nonce_used_twice", CONNECTION + "packet_keys.cc",
           "packets without a packet number share a nonce",
           "session_ ? session_->next_unnumbered() : 0", "session_ ? 1 : 0"),
    Mutant("one_key_for_both_directions", "transport/security/session.cc",
           "what both sides send is encrypted with the same key",
           '"heddle 1 acceptor sends"', '"heddle 1 initiator sends"'),
    # --- a byzantine peer ---
    Mutant("names_without_bound", MESSAGES + "outgoing.cc",
           "a peer may name any number of receives",
           "  if (unmet > limits_.max_posted - others) return false;\n", "", 1200),
    Mutant("any_host_believed", "transport/endpoint/body.cc",
           "a packet with the right id is taken from whatever host it comes from",
           "  if (connection == nullptr || !connection->is_peer(run.from)) {\n"
           "    drop(now, DropReason::kUnknownConnection);\n    if (!shared.keyed)",
           "  if (connection == nullptr) {\n"
           "    drop(now, DropReason::kUnknownConnection);\n    if (!shared.keyed)", 1200),
    Mutant("reset_believed_without_proof", CONNECTION + "connection.cc",
           "a reset ends a connection without naming a packet of it that is under way",
           "  if (!parts_.sender.awaits(reset.path, reset.number)) return false;\n", "", 1200),
    Mutant("far_numbers_taken", CONNECTION + "packet_filter.cc",
           "a packet number that no window allows is taken and acknowledged",
           "  if (parts_.acks.too_far(header.path, last)) {\n", "  if (false) {\n", 1200),
    Mutant("ids_in_order", CONNECTION + "connection_table.cc",
           "packets name a connection by its slot",
           "    wire_id = draw_wire_id();\n", "    wire_id = slot + 1;\n", 1200),
    Mutant("secrets_in_order", "transport/security/secrets.cc",
           "ids, nonces and tokens are a count instead of a cryptographic generator's output",
           "  return Reader(bytes).get<uint64_t>();\n",
           "  return drawn_[static_cast<size_t>(use)];\n", 1200),
    Mutant("early_messages_without_bound", MESSAGES + "incoming.cc",
           "a peer may name any number of messages ahead of their receives",
           "  if (early_.full()) return kNoIndex;\n", "", 1200),
    # --- the fabric ---
    Mutant("pauses_ignored", "simulator/outlets.cc",
           "who is asked to pause goes on, and a lossless switch has no room for what comes",
           "  if (outlet.paused == pause) return;\n",
           "  if (pause || outlet.paused == pause) return;\n", first=500),

    # --- the agreement on the ranks that are left ---
    of_agreement("promise_broken", "a rank accepts a proposal below one that it has promised",
                 "  if (message.ballot < acceptor_.promised()) {\n", "  if (message.ballot < Ballot{}) {\n"),
    of_agreement("accepted_set_forgotten", "a new leader proposes its own set although another may be decided",
                 "    if (promise == latest_.end() || promise->second.accepted.ballot <= highest.ballot) continue;\n",
                 "    continue;\n", "promises.cc"),
    of_agreement("half_is_a_quorum", "two halves of a network may both decide",
                 "  return twice > ranks.size() || (twice == ranks.size() && ranks.contains(0));",
                 "  return twice >= ranks.size();"),
    of_agreement("one_acceptance_decides", "a set is decided before a quorum has accepted it",
                 "    if (is_quorum(accepts_)) {\n      decide(", "    if (accepts_.count() > 1) {\n      decide("),
    of_agreement("decision_kept_secret", "a rank whose leader dies does not learn what it decided",
                 "  send_to_all({Kind::kDecided, {}, {}, ranks, newcomers});\n",
                 "  send(size_ - 1, {Kind::kDecided, {}, {}, ranks, newcomers});\n"),
    of_agreement("absent_leader_awaited", "a leader that lives and does not take part is waited for",
                 "    followed_.pass_over();  // its process lives, and does not take part\n",
                 "    return;\n"),
    of_agreement("late_rank_not_asked", "a rank that comes when a ballot has begun is not asked for its promise",
                 "    if (ready.contains(rank) || asked_.contains(rank)) continue;\n",
                 "    if (ready.contains(rank) || asked_.count() > 0) continue;\n"),
    of_agreement("newcomers_of_the_leader", "newcomers are taken in although a rank does not know them",
                 "promise->second.accepted.newcomers != newcomers_) return 0;", "false) return 0;", "promises.cc"),
]
