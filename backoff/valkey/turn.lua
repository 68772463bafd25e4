-- P8, P9. ARGV: most, the delay and the budget in milliseconds.
recover(tonumber(ARGV[3]))
local delay, budget = tonumber(ARGV[4]), tonumber(ARGV[5])
local at, wait = instant, 0
if s['turn.reserved'] or s['turn.answered'] or s['turn.handed'] then
  local next = base() + delay
  if next > now then at, wait = next, next - now end
end
if wait == 0 or wait <= budget then s['turn.reserved'] = at end
save()
return reply()
