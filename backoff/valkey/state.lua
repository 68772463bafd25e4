-- What every script that changes something begins with, behind clock.lua: the
-- host's state, and what package backoff does to it in Rules. The two must answer
-- alike, to the millisecond; a test compares them.
--
-- Instants are whole milliseconds since 1970, rounded up. now is rounded down, so
-- that an instant t is after the clock exactly if t > now, and t - now is what is
-- left until t, rounded up.

local now, instant = math.floor(clock / 1000), math.ceil(clock / 1000)

local HOUR, DAY = 3600000, 86400000

-- Every field that is known, and what it must look like. Any other was written
-- by a newer version, as JSON, and is kept as long as the part it belongs to.
local NUMBER, FLAG, TEXT = '^%d+$', '^[01]$', '.'
local known = {
  ['host'] = TEXT, ['set_at'] = NUMBER,
  ['turn.reserved'] = NUMBER, ['turn.answered'] = NUMBER, ['turn.handed'] = NUMBER,
  ['backoff.failures'] = NUMBER, ['backoff.status'] = NUMBER, ['backoff.until'] = NUMBER,
  ['backoff.retry_after'] = FLAG, ['backoff.capped'] = FLAG, ['backoff.date'] = FLAG, ['backoff.by'] = TEXT,
  ['reservation.id'] = TEXT, ['reservation.deadline'] = NUMBER, ['reservation.by'] = TEXT,
}

local stored = redis.call('HGETALL', key)
local found, s, newer = {}, {}, {} -- as stored, as it becomes, and names of unknown fields
local valid = true

for i = 1, #stored, 2 do
  local name, value = stored[i], stored[i + 1]
  local form = known[name]
  if not form then
    newer[#newer + 1] = name
  elseif not string.find(value, form) or form == NUMBER and #value > 13 then -- 13 digits last until 2286
    valid = false
  else
    if form == NUMBER then value = tonumber(value) end
    found[name], s[name] = value, value
  end
end

local function failure(status) return status == 429 or status >= 500 and status <= 599 end

-- has tells whether a part has any field, known or not.
local function has(part)
  for i = 1, #stored, 2 do
    if string.sub(stored[i], 1, #part) == part then return true end
  end
  return false
end

if valid and #stored > 0 then
  valid = s['host'] == host and s['set_at'] ~= nil
  if has('backoff.') then
    valid = valid and s['backoff.until'] ~= nil and failure(s['backoff.status'] or 0) and (s['backoff.failures'] or 0) <= 2147483647
  end
  if has('reservation.') then
    valid = valid and s['reservation.id'] ~= nil and s['reservation.deadline'] ~= nil
  end
end

-- reply is what every script answers: the clock and the state as it was found, from
-- which the caller computes the outcome, and finds what is not valid in it.
local function reply() return {clock, stored} end

-- drop removes a part, with what a newer version added to it.
local function drop(part)
  for name in pairs(known) do
    if string.sub(name, 1, #part) == part then s[name] = nil end
  end
  for i = #newer, 1, -1 do
    if string.sub(newer[i], 1, #part) == part then
      redis.call('HDEL', key, newer[i])
      table.remove(newer, i)
    end
  end
end

local function raise(name, value)
  if not s[name] or value > s[name] then s[name] = value end
end

local function reserved() return s['reservation.id'] ~= nil and s['reservation.deadline'] > now end

-- base is what the next turn counts from; 0 is none.
local function base()
  return math.max(s['turn.reserved'] or 0, s['turn.answered'] or 0, s['turn.handed'] or 0)
end

-- P43, P44. most is max_delay + max_wait in microseconds.
local shifted = false
local function recover(most)
  local set = s['set_at']
  if not set then return end
  if set - now > 1000 then
    for _, name in ipairs({'turn.reserved', 'turn.answered', 'turn.handed', 'backoff.until', 'reservation.deadline'}) do
      if s[name] then s[name] = math.max(0, s[name] - set + instant) end
    end
    set, shifted = instant, true
    s['set_at'] = set
  end
  if s['backoff.until'] and s['backoff.until'] > set + HOUR then
    s['backoff.until'], s['backoff.date'] = set + HOUR, '0'
  end
  if s['reservation.deadline'] and s['reservation.deadline'] > set + HOUR then
    s['reservation.deadline'] = set + HOUR
  end
  if base() * 1000 - clock > most then
    s['turn.reserved'], s['turn.answered'], s['turn.handed'] = nil, instant, nil
  end
end

-- P26
local function release(id)
  if id ~= '' and s['reservation.id'] == id then drop('reservation.') end
end

-- P21
local function settle()
  if (s['backoff.failures'] or 0) == 0 and (s['backoff.until'] or 0) <= now and not reserved() then
    drop('backoff.')
    drop('reservation.')
  end
end

-- save stores what changed: nothing, if nothing did. A state that says nothing is
-- removed, any other expires a day after its last instant.
local function save()
  local set, del, last, parts = {}, {}, instant, #newer
  for name, form in pairs(known) do
    local value = s[name]
    if value ~= found[name] then
      if value == nil then
        del[#del + 1] = name
      else
        set[#set + 1], set[#set + 2] = name, value
      end
    end
    if value ~= nil and name ~= 'host' and name ~= 'set_at' then
      parts = parts + 1
      if form == NUMBER then last = math.max(last, value) end
    end
  end
  if #set + #del == 0 then return end
  if parts == 0 then
    redis.call('DEL', key)
    return
  end
  set[#set + 1], set[#set + 2] = 'host', host
  set[#set + 1], set[#set + 2] = 'set_at', instant
  if #del > 0 then redis.call('HDEL', key, unpack(del)) end
  redis.call('HSET', key, unpack(set))
  redis.call('PEXPIRE', key, last - now + DAY)
end

if not valid then return reply() end -- and nothing is changed
