UPDATE orders SET status = 'shipped' WHERE id = {{params.id}} AND status = 'open'
