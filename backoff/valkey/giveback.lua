-- P12. ARGV: most, the turn, the turn before it or nothing.
recover(tonumber(ARGV[3]))
local at, before = tonumber(ARGV[4]), tonumber(ARGV[5])
if at and s['turn.reserved'] == at and (not before or before < at) then s['turn.reserved'] = before end
save()
return reply()
