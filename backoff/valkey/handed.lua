-- P10, P13. ARGV: most, the turn, the delay and the lead in milliseconds, what is
-- kept of its hand-over or nothing. Rules.Handed says why.
recover(tonumber(ARGV[3]))
local at, delay, kept = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[7])
local reserved, handed = s['turn.reserved'], s['turn.handed']
local sent, late = instant + tonumber(ARGV[6]), instant > at or kept ~= nil
local own = reserved ~= nil and (reserved == at or reserved == kept)

-- missed tells whether others may have gone on turns behind this one.
local function missed()
  if not late or own or not reserved or reserved <= at or reserved + delay <= now then return false end
  return sent >= at + delay or reserved <= now
end

local function close() return handed and handed ~= kept and handed + delay > now end

if late and (shifted or not (missed() or close())) then
  if own or reserved and reserved <= now then
    raise('turn.reserved', sent)
    s['turn.handed'] = nil
  elseif reserved then
    raise('turn.handed', sent)
  elseif s['turn.answered'] or handed or has('turn.') then
    s['turn.reserved'], s['turn.handed'] = sent, nil
  end
end
save()
return reply()
