SELECT '{{auth.user}}'
