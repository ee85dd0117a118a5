SELECT {{params.x}}, {{auth.username}}, {{cache.nothing}}
