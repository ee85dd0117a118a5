SELECT * FROM {{{params.x}}}
