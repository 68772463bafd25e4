-- P26. ARGV: most, the sender's ID.
recover(tonumber(ARGV[3]))
if ARGV[4] ~= '' and s['reservation.id'] == ARGV[4] then
  release(ARGV[4])
  settle()
end
save()
return reply()
