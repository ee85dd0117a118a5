SELECT st_point(1, 2) AS point
