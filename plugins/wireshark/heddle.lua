-- A dissector of heddle's packets for Wireshark and tshark: docs/explanation/protocol.md has the layouts.
-- Reads what needs no key: headers, handshakes, and the frames of connections without keys. Wireshark
-- loads it from its folder of plugins; see README.md.

local VERSION = 2
local LONGEST_MESSAGE = 1024 * 1024 * 1024
local CONNECTION_HEADER = 30
local DATA_HEADER = 44
local TAG = 16
local MOST_RANGES = 16
local GREETING = 24

local heddle = Proto("heddle", "heddle transport")

local types = {
  [1] = "init", [2] = "retry", [3] = "accept", [4] = "version", [5] = "refuse", [6] = "reset",
  [8] = "data", [9] = "control", [10] = "repeat", [11] = "parity", [12] = "greeting",
}
local frame_types = {
  [0] = "padding", [1] = "acknowledgement", [2] = "acknowledgement times", [3] = "grant",
  [4] = "cancel send", [5] = "cancel receive", [6] = "close", [7] = "ping", [8] = "placed grant",
  [9] = "fenced", [10] = "ask fence", [11] = "message", [12] = "delivered", [13] = "demand",
  [14] = "credit", [15] = "NIC probe", [16] = "NIC answer", [17] = "trimmed",
}
local close_reasons = {
  [0] = "graceful", [1] = "aborted", [2] = "protocol error", [3] = "finished", [4] = "the peer was not heard",
}
local cancel_reasons = { [0] = "cancelled", [1] = "too long for its receive" }
local refuse_reasons = {
  [0] = "not accepting", [1] = "full", [2] = "congestion control unknown", [3] = "datagrams too small",
  [4] = "no keys here", [5] = "requires protection of headers", [6] = "requires full protection",
  [7] = "made a connection that has ended",
}
local parity_kinds = { [0] = "announcement", [1] = "row" }
local greeting_kinds = { [1] = "ask", [2] = "answer", [3] = "moved" }
local mtus = { [1] = "256 bytes", [2] = "512 bytes", [3] = "1024 bytes", [4] = "2048 bytes", [5] = "4096 bytes" }
local protections = { [1] = "headers", [2] = "full" }
local parameter_types = {
  [1] = "paths", [2] = "largest datagram", [3] = "receive capacity", [4] = "channels",
  [5] = "posted operations", [6] = "largest eager message", [7] = "eager messages", [8] = "features",
  [9] = "congestion control", [10] = "chunk paths", [11] = "largest chunk", [16] = "key id",
  [17] = "key nonce", [18] = "proof", [19] = "protection", [20] = "initial credit", [21] = "NICs",
}

local field = {}

-- Declares the field heddle.NAME; `make` is a function of ProtoField.
local function declare(name, make, title, ...)
  field[name] = make("heddle." .. name, title, ...)
end

declare("version", ProtoField.uint8, "Version", base.DEC, nil, 0xf0)
declare("type", ProtoField.uint8, "Type", base.DEC, types, 0x0f)
declare("flags", ProtoField.uint8, "Flags", base.HEX)
declare("flags.ack_now", ProtoField.bool, "Acknowledge now", 8, nil, 0x01)
declare("flags.retransmission", ProtoField.bool, "Retransmission", 8, nil, 0x02)
declare("flags.numbered", ProtoField.bool, "Control packet with a number", 8, nil, 0x04)
declare("flags.ack_later", ProtoField.bool, "Acknowledgement may be deferred", 8, nil, 0x08)
declare("flags.epoch", ProtoField.uint8, "Epoch of the key", base.DEC, nil, 0xf0)
declare("path", ProtoField.uint16, "Path")
declare("connection", ProtoField.uint64, "Wire id", base.HEX)
declare("number", ProtoField.uint64, "Packet number")
declare("sent_at", ProtoField.int64, "Sent at (ns)")
declare("reply_port", ProtoField.uint16, "Reply port")
declare("channel", ProtoField.uint16, "Channel")
declare("sequence", ProtoField.uint32, "Sequence")
declare("offset", ProtoField.uint32, "Offset in the message")
declare("message_bytes", ProtoField.uint32, "Message bytes")
declare("payload", ProtoField.bytes, "Payload")
declare("payload_bytes", ProtoField.uint32, "Payload bytes")
declare("encrypted", ProtoField.bytes, "Encrypted")
declare("original.path", ProtoField.uint8, "Path of the original write")
declare("original.epoch", ProtoField.uint16, "Epoch of the original write")
declare("original.number", ProtoField.uint64, "Number of the original write")

declare("id", ProtoField.uint32, "Initiator's id", base.HEX)
declare("acceptor_id", ProtoField.uint32, "Acceptor's id", base.HEX)
declare("nonce", ProtoField.uint64, "Nonce", base.HEX)
declare("echoed_sent_at", ProtoField.int64, "Echoed send time (ns)")
declare("has_cookie", ProtoField.bool, "Has a cookie")
declare("cookie", ProtoField.bytes, "Cookie")
declare("proof", ProtoField.bytes, "Proof")
declare("refuse_reason", ProtoField.uint8, "Reason", base.DEC, refuse_reasons)
declare("lowest_version", ProtoField.uint8, "Lowest version")
declare("highest_version", ProtoField.uint8, "Highest version")
declare("parameter", ProtoField.uint16, "Parameter", base.DEC, parameter_types)
declare("parameter.length", ProtoField.uint16, "Length")
declare("parameter.value", ProtoField.bytes, "Value")
declare("parameter.number", ProtoField.uint64, "Value")
declare("parameter.name", ProtoField.string, "Value")
declare("parameter.protection", ProtoField.uint8, "Level", base.DEC, protections)
declare("parameter.address", ProtoField.ipv6, "Address")

declare("frame", ProtoField.uint8, "Frame", base.DEC, frame_types)
declare("ack.received_at", ProtoField.int64, "Arrival (ns)")
declare("ack.marked", ProtoField.uint32, "Marks counted")
declare("ack.ranges", ProtoField.uint8, "Ranges")
declare("ack.newest", ProtoField.uint64, "Newest number")
declare("ack.length", ProtoField.uint32, "Numbers")
declare("ack.step", ProtoField.uint32, "Step")
declare("ack.made_at", ProtoField.int64, "Made at (ns)")
declare("ack.window", ProtoField.uint64, "Receive capacity (bytes)")
declare("first_sequence", ProtoField.uint32, "First sequence")
declare("count", ProtoField.uint16, "Receives")
declare("capacity", ProtoField.uint32, "Capacity (bytes)")
declare("slot", ProtoField.uint8, "Slot")
declare("remote_offset", ProtoField.uint64, "Offset in the region")
declare("token", ProtoField.bytes, "Token")
declare("cancel_reason", ProtoField.uint8, "Reason", base.DEC, cancel_reasons)
declare("close_reason", ProtoField.uint8, "Reason", base.DEC, close_reasons)
declare("chunk_path", ProtoField.uint16, "Chunk path")
declare("epoch", ProtoField.uint32, "Epoch")
declare("serial", ProtoField.uint32, "Serial")
declare("settled", ProtoField.uint64, "Settled (bytes)")
declare("wanted", ProtoField.uint64, "Wanted (bytes)")
declare("limit", ProtoField.uint64, "Limit (bytes)")
declare("allowance", ProtoField.uint32, "Allowance (bytes)")
declare("nic_token", ProtoField.uint64, "NIC token", base.HEX)

declare("parity.format", ProtoField.uint8, "Format")
declare("parity.kind", ProtoField.uint8, "Kind", base.DEC, parity_kinds)
declare("parity.row", ProtoField.uint8, "Row")
declare("parity.group", ProtoField.uint16, "Group")
declare("parity.members", ProtoField.uint8, "Members")
declare("parity.runs", ProtoField.uint8, "Runs")
declare("parity.path", ProtoField.uint8, "Path of a run")
declare("parity.count", ProtoField.uint8, "Packets of a run")
declare("parity.number", ProtoField.uint16, "First packet number of a run, lower 16 bits", base.DEC)
declare("parity.sum", ProtoField.bytes, "Sum")

declare("greeting.format", ProtoField.uint8, "Format")
declare("greeting.kind", ProtoField.uint8, "Kind", base.DEC, greeting_kinds)
declare("greeting.mtu", ProtoField.uint8, "MTU of RDMA packets", base.DEC, mtus)
declare("greeting.queue_pair", ProtoField.uint32, "Receiving queue pair", base.HEX)
declare("greeting.key", ProtoField.uint32, "Q_Key", base.HEX)

local all_fields = {}
for _, each in pairs(field) do
  all_fields[#all_fields + 1] = each
end
heddle.fields = all_fields

local malformed = ProtoExpert.new("heddle.malformed", "Malformed packet", expert.group.MALFORMED, expert.severity.ERROR)
local retransmission = ProtoExpert.new("heddle.retransmitted", "Retransmission", expert.group.SEQUENCE,
  expert.severity.NOTE)
heddle.experts = { malformed, retransmission }

-- Frames with fields of fixed lengths: (field, bytes) in their order.
local cancel_layout = { "channel", 2, "sequence", 4, "cancel_reason", 1 }
local fence_layout = { "chunk_path", 2, "epoch", 4 }
local frame_layouts = {
  [2] = { "ack.made_at", 8, "ack.window", 8 },
  [3] = { "channel", 2, "first_sequence", 4, "count", 2, "capacity", 4 },
  [4] = cancel_layout, [5] = cancel_layout, [12] = cancel_layout,
  [6] = { "close_reason", 1 },
  [7] = {},
  [9] = fence_layout, [10] = fence_layout,
  [11] = { "channel", 2, "sequence", 4 },
  [13] = { "serial", 4, "settled", 8, "wanted", 8 },
  [14] = { "limit", 8, "allowance", 4 },
  [15] = { "nic_token", 8 }, [16] = { "nic_token", 8 },
  [17] = { "path", 2, "number", 8 },
}
local ack_layout = { "path", 2, "echoed_sent_at", 8, "ack.received_at", 8, "ack.marked", 4, "ack.ranges", 1,
  "ack.newest", 8, "ack.length", 4 }
local placed_layout = { "channel", 2, "sequence", 4, "capacity", 4, "slot", 1, "remote_offset", 8 }

-- Of connections that were seen, by wire id: whether keys protect them.
local protected = {}
local seen = {}
function heddle.init()
  protected, seen = {}, {}
end

-- Adds fields from `at` on; the offset behind them, or nil where the bytes end before.
local function add_layout(tree, bytes, at, layout)
  for i = 1, #layout, 2 do
    local length = layout[i + 1]
    if at + length > bytes:len() then return nil end
    tree:add_le(field[layout[i]], bytes(at, length))
    at = at + length
  end
  return at
end

local function layout_length(layout)
  local total = 0
  for i = 2, #layout, 2 do
    total = total + layout[i]
  end
  return total
end

local function add_ack(tree, bytes, at)
  local behind = at + layout_length(ack_layout)
  if behind > bytes:len() then return nil end
  local ranges = bytes(at + 22, 1):uint()
  if ranges < 1 or ranges > MOST_RANGES then return nil end
  add_layout(tree, bytes, at, ack_layout)
  for _ = 2, ranges do
    behind = behind and add_layout(tree, bytes, behind, { "ack.step", 4, "ack.length", 4 })
  end
  return behind
end

local function add_placed_grant(tree, bytes, at)
  at = add_layout(tree, bytes, at, placed_layout)
  if not at or at >= bytes:len() then return nil end
  local length = bytes(at, 1):uint()
  if length < 1 or length > 32 or at + 1 + length > bytes:len() then return nil end
  tree:add(field.token, bytes(at + 1, length))
  return at + 1 + length
end

-- The length of the frame whose type is at `at`, with that byte; nil where it is malformed. Adds nothing.
local function frame_length(bytes, at)
  local kind = bytes(at, 1):uint()
  local left = bytes:len() - at
  if kind == 0 then
    for i = at, bytes:len() - 1 do
      if bytes(i, 1):uint() ~= 0 then return nil end
    end
    return left
  end
  local length
  if kind == 1 then
    length = 1 + layout_length(ack_layout)
    if length > left then return nil end
    local ranges = bytes(at + 23, 1):uint()
    if ranges < 1 or ranges > MOST_RANGES then return nil end
    length = length + (ranges - 1) * 8
  elseif kind == 8 then
    length = 1 + layout_length(placed_layout) + 1
    if length > left then return nil end
    length = length + bytes(at + length - 1, 1):uint()
  elseif kind == 11 then
    if left < 7 then return nil end
    length = left
  elseif frame_layouts[kind] then
    length = 1 + layout_length(frame_layouts[kind])
  end
  return length and length <= left and length or nil
end

-- Whether frames fill the packet from `at` to its end.
local function has_frames(bytes, at)
  while at < bytes:len() do
    local length = frame_length(bytes, at)
    if not length then return false end
    at = at + length
  end
  return true
end

local function add_frames(tree, bytes, at, names)
  while at < bytes:len() do
    local kind = bytes(at, 1):uint()
    local length = frame_length(bytes, at)
    if not length then
      tree:add_proto_expert_info(malformed, "a frame is malformed, or encrypted")
      return
    end
    local name = frame_types[kind]
    local frame = tree:add(heddle, bytes(at, length), "Frame: " .. name)
    frame:add(field.frame, bytes(at, 1))
    names[#names + 1] = name
    if kind == 1 then
      add_ack(frame, bytes, at + 1)
    elseif kind == 8 then
      add_placed_grant(frame, bytes, at + 1)
    elseif kind ~= 0 then
      local behind = add_layout(frame, bytes, at + 1, frame_layouts[kind])
      if kind == 11 then
        local left = bytes:len() - behind
        frame:add(field.payload_bytes, bytes(behind, left), left)
        if left > 0 then frame:add(field.payload, bytes(behind)) end
      end
    end
    at = at + length
  end
end

local function add_parameter(tree, bytes, at, kind, length)
  local value = bytes(at, length)
  if kind == 9 then
    tree:add(field["parameter.name"], value)
  elseif kind == 19 and length == 1 then
    tree:add(field["parameter.protection"], value)
  elseif kind == 21 and length % 16 == 0 then
    for i = 0, length - 16, 16 do
      tree:add(field["parameter.address"], bytes(at + i, 16))
    end
  elseif kind <= 20 and (kind < 16 or kind == 20) and length <= 8 then
    tree:add_le(field["parameter.number"], value)
  else
    tree:add(field["parameter.value"], value)
  end
end

-- The parameters of an init or accept; whether they name a key.
local function add_parameters(tree, bytes, at)
  local keyed = false
  while at + 2 <= bytes:len() do
    local kind = bytes(at, 2):le_uint()
    if kind == 0 then return keyed end
    local length = at + 4 <= bytes:len() and bytes(at + 2, 2):le_uint() or nil
    if not length or length == 0 or at + 4 + length > bytes:len() then break end
    local parameter = tree:add(heddle, bytes(at, 4 + length), "Parameter: " .. (parameter_types[kind] or kind))
    parameter:add_le(field.parameter, bytes(at, 2))
    parameter:add_le(field["parameter.length"], bytes(at + 2, 2))
    add_parameter(parameter, bytes, at + 4, kind, length)
    keyed = keyed or kind == 18
    at = at + 4 + length
  end
  tree:add_proto_expert_info(malformed, "parameters without an end")
  return keyed
end

local handshake_layouts = {
  [1] = { "id", 4, "nonce", 8, "sent_at", 8, "reply_port", 2, "connection", 8, "has_cookie", 1 },
  [2] = { "id", 4, "nonce", 8 },
  [3] = { "id", 4, "nonce", 8, "acceptor_id", 4, "echoed_sent_at", 8, "reply_port", 2, "connection", 8 },
  [4] = { "id", 4, "nonce", 8, "lowest_version", 1, "highest_version", 1 },
  [5] = { "id", 4, "nonce", 8, "refuse_reason", 1 },
  [6] = { "connection", 8, "number", 8 },
}

local function wire_id(bytes, at)
  return tostring(bytes(at, 8):le_uint64())
end

local function add_handshake(tree, bytes, kind)
  if bytes:len() < 4 then return tree:add_proto_expert_info(malformed) end
  if kind == 6 then tree:add_le(field.path, bytes(2, 2)) end
  local at = add_layout(tree, bytes, 4, handshake_layouts[kind])
  if not at then return tree:add_proto_expert_info(malformed) end
  if kind == 1 or kind == 2 then
    if at + 24 > bytes:len() then return tree:add_proto_expert_info(malformed) end
    tree:add(field.cookie, bytes(at, 24))
    at = at + 24
  end
  if kind == 1 or kind == 3 then
    local id = wire_id(bytes, kind == 1 and 26 or 30)
    seen[id] = true
    if add_parameters(tree, bytes, at) then protected[id] = true end
  elseif (kind == 2 or kind == 5) and bytes:len() == at + 16 then
    tree:add(field.proof, bytes(at, 16))
  end
end

local function add_header(tree, bytes, kind)
  local flags = tree:add(field.flags, bytes(1, 1))
  for _, name in ipairs({ "ack_now", "retransmission", "numbered", "ack_later", "epoch" }) do
    flags:add(field["flags." .. name], bytes(1, 1))
  end
  tree:add_le(field.path, bytes(2, 2))
  tree:add_le(field.connection, bytes(4, 8))
  tree:add_le(field.number, bytes(12, 8))
  if kind == 10 then
    tree:add_le(field["original.number"], bytes(20, 5))
    tree:add_le(field["original.epoch"], bytes(25, 2))
    tree:add_le(field["original.path"], bytes(27, 1))
  else
    tree:add_le(field.sent_at, bytes(20, 8))
  end
  tree:add_le(field.reply_port, bytes(28, 2))
  if bit.band(bytes(1, 1):uint(), 2) ~= 0 then tree:add_proto_expert_info(retransmission) end
end

local function add_data(tree, bytes, id)
  add_layout(tree, bytes, 30, { "channel", 2, "sequence", 4, "offset", 4, "message_bytes", 4 })
  local offset, total = bytes(36, 4):le_uint(), bytes(40, 4):le_uint()
  local carried = bytes:len() - DATA_HEADER
  if offset + carried > total then protected[id] = true end
  local payload = carried
  if protected[id] and carried >= TAG then payload = carried - TAG end
  tree:add(field.payload_bytes, bytes(DATA_HEADER, carried), payload):set_generated()
  if carried > 0 then
    tree:add(protected[id] and field.encrypted or field.payload, bytes(DATA_HEADER, carried))
  end
  return string.format("channel %d sequence %d, %d bytes at %d of %d", bytes(30, 2):le_uint(),
    bytes(32, 4):le_uint(), payload, offset, total)
end

local function add_control(tree, bytes, id)
  local names = {}
  -- What is encrypted has no frames, except by chance.
  if not protected[id] and not has_frames(bytes, CONNECTION_HEADER) and bytes:len() == bytes:reported_len() then
    protected[id] = true
  end
  if protected[id] then
    if bytes:len() > CONNECTION_HEADER then tree:add(field.encrypted, bytes(CONNECTION_HEADER)) end
    return "encrypted"
  end
  add_frames(tree, bytes, CONNECTION_HEADER, names)
  return table.concat(names, ", ")
end

-- Whether a packet of type 11 is one of forward error correction, as docs/explanation/protocol.md has them.
local function is_parity(bytes)
  if bytes:len() < 8 or bytes(1, 1):uint() ~= 1 then return false end
  if bytes(2, 1):uint() == 0 then return bytes:len() == 8 and bytes(3, 1):uint() == 0 and bytes(6, 2):uint() == 0 end
  local row, members, runs = bytes(3, 1):uint(), bytes(6, 1):uint(), bytes(7, 1):uint()
  if bytes(2, 1):uint() ~= 1 or row > 7 or members < 1 or members > 32 or runs < 1 or runs > 8 then return false end
  if bytes:len() <= 16 + 4 * runs then return false end
  local counted = 0
  for run = 0, runs - 1 do
    counted = counted + bytes(17 + 4 * run, 1):uint()
  end
  return counted == members
end

local function add_parity(tree, bytes)
  if not is_parity(bytes) then
    tree:add_proto_expert_info(malformed)
    return "malformed"
  end
  add_layout(tree, bytes, 1, { "parity.format", 1, "parity.kind", 1, "parity.row", 1 })
  if bytes(2, 1):uint() == 0 then
    tree:add_le(field.reply_port, bytes(4, 2))
    return "announcement"
  end
  add_layout(tree, bytes, 4, { "parity.group", 2, "parity.members", 1, "parity.runs", 1, "connection", 8 })
  local at = 16
  for _ = 1, bytes(7, 1):uint() do
    at = add_layout(tree, bytes, at, { "parity.path", 1, "parity.count", 1, "parity.number", 2 })
  end
  tree:add(field["parity.sum"], bytes(at))
  return string.format("row %d of group %d, %d packets", bytes(3, 1):uint(), bytes(4, 2):le_uint(),
    bytes(6, 1):uint())
end

-- Whether a packet of type 12 is a greeting of UD queue pairs.
local function is_greeting(bytes)
  if bytes:len() ~= GREETING or bytes(1, 1):uint() ~= 1 then return false end
  local kind, mtu = bytes(2, 1):uint(), bytes(3, 1):uint()
  return greeting_kinds[kind] ~= nil and mtus[mtu] ~= nil and bytes(4, 2):uint() ~= 0 and bytes(6, 2):uint() == 0 and
    bytes(11, 1):uint() == 0 and bytes(15, 1):uint() < 0x80
end

local function add_greeting(tree, bytes)
  if not is_greeting(bytes) then
    tree:add_proto_expert_info(malformed)
    return "malformed"
  end
  add_layout(tree, bytes, 1, { "greeting.format", 1, "greeting.kind", 1, "greeting.mtu", 1, "reply_port", 2 })
  add_layout(tree, bytes, 8, { "greeting.queue_pair", 4, "greeting.key", 4, "nonce", 8 })
  return string.format("%s, queue pair 0x%06x", greeting_kinds[bytes(2, 1):uint()], bytes(8, 4):le_uint())
end

-- One packet; its line for the list of packets.
local function add_packet(bytes, tree)
  local kind = bit.band(bytes(0, 1):uint(), 0x0f)
  local name = types[kind] or "unknown type"
  tree:append_text(", " .. name)
  tree:add(field.version, bytes(0, 1))
  tree:add(field.type, bytes(0, 1))
  if handshake_layouts[kind] then
    add_handshake(tree, bytes, kind)
    return name
  end
  if kind == 11 then return name .. ", " .. add_parity(tree, bytes) end
  if kind == 12 then return name .. ", " .. add_greeting(tree, bytes) end
  local header = kind == 9 and CONNECTION_HEADER or DATA_HEADER
  if not types[kind] or bytes:len() < header then
    tree:add_proto_expert_info(malformed)
    return name
  end
  add_header(tree, bytes, kind)
  local id = wire_id(bytes, 4)
  seen[id] = true
  local what = (kind == 9 and add_control or add_data)(tree, bytes, id)
  local number = tostring(bytes(12, 8):le_uint64())
  return string.format("%s, path %d number %s, %s", name, bytes(2, 2):le_uint(), number, what)
end

-- The distance of headers where an offload merged several packets of a path: the next header repeats path
-- and wire id, and its number is the next one. 0: there is one packet.
local function merged_stride(bytes)
  local kind = bytes:len() >= CONNECTION_HEADER and bit.band(bytes(0, 1):uint(), 0x0f) or 0
  if kind < 8 or kind > 10 or bytes:len() < 2 * CONNECTION_HEADER then return 0 end
  local raw = bytes:raw()
  local sought = raw:sub(3, 12)
  local number = bytes(12, 8):le_uint64()
  local at = raw:find(sought, CONNECTION_HEADER + 3, true)
  while at and at - 3 + CONNECTION_HEADER <= bytes:len() do
    local start = at - 3
    if raw:byte(start + 1) == raw:byte(1) and bytes(start + 12, 8):le_uint64() == number + 1 then return start end
    at = raw:find(sought, at + 1, true)
  end
  return 0
end

function heddle.dissector(buffer, pinfo, root)
  if buffer:len() == 0 then return 0 end
  pinfo.cols.protocol = "heddle"
  local stride = merged_stride(buffer)
  if stride == 0 then stride = buffer:len() end
  local lines, at = {}, 0
  while at < buffer:len() do
    local bytes = buffer(at, math.min(stride, buffer:len() - at)):tvb()
    local tree = root:add(heddle, bytes(), "heddle transport")
    lines[#lines + 1] = add_packet(bytes, tree)
    at = at + stride
  end
  local merged = #lines > 1 and string.format("[%d packets merged by an offload] ", #lines) or ""
  pinfo.cols.info = merged .. lines[1]
  return buffer:len()
end

local function plausible_connection(buffer, kind)
  local header = kind == 9 and CONNECTION_HEADER or DATA_HEADER
  if buffer:len() < header or buffer(28, 2):le_uint() == 0 or buffer(2, 2):le_uint() >= 0x8000 then return false end
  if seen[wire_id(buffer, 4)] then return true end
  if kind == 9 then return buffer:len() == buffer:reported_len() and has_frames(buffer, CONNECTION_HEADER) end
  local offset, total = buffer(36, 4):le_uint(), buffer(40, 4):le_uint()
  if total > LONGEST_MESSAGE or offset > total then return false end
  return merged_stride(buffer) > 0 or offset + buffer:reported_len() - DATA_HEADER <= total + TAG
end

-- Recognizes packets to ports that are not set. A handshake has zeros behind its first byte.
local function heuristic(buffer, pinfo, root)
  if buffer:len() < 8 or bit.rshift(buffer(0, 1):uint(), 4) ~= VERSION then return false end
  local kind = bit.band(buffer(0, 1):uint(), 0x0f)
  local ours
  if kind == 8 or kind == 9 or kind == 10 then
    ours = plausible_connection(buffer, kind)
  elseif kind == 11 then
    ours = is_parity(buffer) and (buffer(2, 1):uint() == 0 or seen[wire_id(buffer, 8)] == true)
  elseif kind == 12 then
    ours = is_greeting(buffer)
  elseif kind == 6 then
    ours = buffer:len() == 20 and seen[wire_id(buffer, 4)] == true
  else
    ours = buffer:len() >= 17 and kind >= 1 and kind <= 5 and buffer(1, 3):uint() == 0
  end
  if not ours then return false end
  heddle.dissector(buffer, pinfo, root)
  return true
end
heddle:register_heuristic("udp", heuristic)

-- Ports at which endpoints receive, beside what the heuristic recognizes.
heddle.prefs.ports = Pref.range("UDP ports", "18700", "Ports at which heddle's endpoints receive", 65535)
local udp_ports = DissectorTable.get("udp.port")
local ports = heddle.prefs.ports
udp_ports:add(ports, heddle)
function heddle.prefs_changed()
  if ports == heddle.prefs.ports then return end
  udp_ports:remove(ports, heddle)
  ports = heddle.prefs.ports
  udp_ports:add(ports, heddle)
end
