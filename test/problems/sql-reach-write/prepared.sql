PREPARE p AS COPY t TO 'all.csv';
EXECUTE p
