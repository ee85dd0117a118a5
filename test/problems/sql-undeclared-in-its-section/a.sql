SELECT * FROM t {{#params.y}}WHERE id = {{params.y}}{{/params.y}}
