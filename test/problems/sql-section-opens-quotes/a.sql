SELECT {{#params.x}}'a{{/params.x}}'
