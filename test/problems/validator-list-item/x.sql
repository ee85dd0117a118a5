SELECT {{params.v}} AS v, {{params.w}} AS w
