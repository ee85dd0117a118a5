SELECT 1
{{#params.x}}, 2
