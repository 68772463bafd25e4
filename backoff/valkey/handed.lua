-- P10. ARGV: most, the turn.
recover(tonumber(ARGV[3]))
local turn = s['turn.reserved'] or s['turn.answered'] or has('turn.')
if turn and instant > tonumber(ARGV[4]) then raise('turn.reserved', instant) end
save()
return reply()
