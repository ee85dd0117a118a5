SELECT id,
  getenv('HOME') AS home
FROM t
