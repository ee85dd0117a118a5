SELECT '{{env.HOME}}'
