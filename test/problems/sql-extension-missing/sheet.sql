SELECT * FROM read_xlsx('orders.xlsx')
