-- P10, P16 to P21. ARGV: most, the status, whether the host is paced (1), the
-- sender's ID, the tenant, and what Retry-After states where it counts: seconds,
-- and an instant, each or nothing.
recover(tonumber(ARGV[3]))
local status, paced, id, tenant = tonumber(ARGV[4]), ARGV[5] == '1', ARGV[6], ARGV[7]
local seconds, date = tonumber(ARGV[8]), tonumber(ARGV[9])

-- P17 to P19: the later of the two ends; of equal ones the number.
local function stated()
  local ends, dated = nil, '0'
  if seconds then ends = instant + seconds * 1000 end
  if date then
    local at, is = instant, '0'
    if date > now then at, is = date, '1' end
    if not ends or at > ends then ends, dated = at, is end
  end
  if ends and ends > instant + HOUR then return instant + HOUR, '1', '0' end
  return ends, '0', dated
end

-- P17, P20
local function fail()
  local running = (s['backoff.until'] or 0) > now
  local failures = s['backoff.failures'] or 0
  if failures == 0 or not running then failures = math.min(failures + 1, 2147483647) end
  s['backoff.failures'] = failures
  local ends, capped, dated = stated()
  local by_field = ends ~= nil
  if not by_field then
    local interval = 10000
    for _ = 2, math.min(failures, 8) do interval = interval * 2 end
    ends = instant + math.min(interval, 900000)
  end
  if running and ends <= s['backoff.until'] then return end
  s['backoff.status'], s['backoff.until'] = status, ends
  s['backoff.retry_after'], s['backoff.capped'], s['backoff.date'] = by_field and '1' or '0', capped, dated
  s['backoff.by'] = tenant ~= '' and tenant or nil
end

if status < 100 or status > 199 then
  if paced then raise('turn.answered', instant) end
  release(id)
end
if failure(status) then
  fail()
elseif status >= 200 and s['backoff.failures'] then
  s['backoff.failures'] = 0
end
settle()
save()
return reply()
