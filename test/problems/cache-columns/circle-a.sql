SELECT id FROM cache.cache.circle_b
