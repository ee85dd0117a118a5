SELECT id, nmae FROM t
