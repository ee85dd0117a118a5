COPY t TO 'all.csv'
