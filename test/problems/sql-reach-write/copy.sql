INSERT INTO t (id) VALUES (1);
COPY t TO 'all.csv';
EXPORT DATABASE 'all';
