SELECT {{params.id}} AS id, {{params.day}} AS day
