SELECT {{params.x
