-- The state as it stands.
return {clock, redis.call('HGETALL', key)}
