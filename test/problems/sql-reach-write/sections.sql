{{#params.a}}{{^params.b}}SET threads = 1;{{/params.b}}{{/params.a}}
DELETE FROM t
