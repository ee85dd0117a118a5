SELECT "{{{params.x}}}" FROM t
