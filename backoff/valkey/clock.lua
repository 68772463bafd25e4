-- What every script begins with.
--
-- KEYS[1]  the host's hash
-- ARGV[1]  the host
-- ARGV[2]  the clock in microseconds, for tests; empty: the server's

local key, host = KEYS[1], ARGV[1]
local clock = tonumber(ARGV[2])
if not clock then
  local time = redis.call('TIME')
  clock = time[1] * 1000000 + time[2]
end
