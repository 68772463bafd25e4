-- P25, P42. ARGV: most, the sender's ID and tenant, the length in milliseconds;
-- then the state that was seen: when it was written, whether the clock had gone
-- back (1), and its back-off and reservation field by field.
recover(tonumber(ARGV[3]))
local id, tenant, length = ARGV[4], ARGV[5], math.min(tonumber(ARGV[6]), HOUR)
local set, back = tonumber(ARGV[7]), ARGV[8] == '1'
local seen = {
  ['backoff.failures'] = ARGV[9], ['backoff.status'] = ARGV[10], ['backoff.until'] = ARGV[11],
  ['backoff.retry_after'] = ARGV[12], ['backoff.capped'] = ARGV[13], ['backoff.date'] = ARGV[14], ['backoff.by'] = ARGV[15],
  ['reservation.id'] = ARGV[16], ['reservation.deadline'] = ARGV[17], ['reservation.by'] = ARGV[18],
}
local ends = tonumber(seen['backoff.until'])

-- same tells whether what was seen is what is there, both counted from when they
-- were written if the clock went back.
local function same()
  for name, was in pairs(seen) do
    local is = s[name]
    if known[name] == NUMBER then
      was = tonumber(was)
      if was and shifted and (name == 'backoff.until' or name == 'reservation.deadline') then
        was = math.max(0, was - (set or 0) + s['set_at'])
      end
      if name == 'backoff.failures' or name == 'backoff.status' then was, is = was or 0, is or 0 end
    elseif known[name] == FLAG then
      is = is or '0'
    else
      is = is or ''
    end
    if was ~= is then return false end
  end
  return true
end

-- over tells whether the wait has ended for who saw it so.
local function over()
  if (s['backoff.until'] or 0) <= now then return true end
  return shifted and (not back or (ends or 0) <= now)
end

local mine = reserved() and s['reservation.id'] == id
if not mine and id ~= '' and length > 0 and (s['backoff.failures'] or 0) > 0 and not reserved() and same() and over() then
  if s['backoff.until'] > now then s['backoff.until'] = instant end
  drop('reservation.')
  s['reservation.id'], s['reservation.deadline'] = id, instant + length
  if tenant ~= '' then s['reservation.by'] = tenant end
end
save()
return reply()
